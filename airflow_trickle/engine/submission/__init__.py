"""Work that runs in an application of its own on a cluster: what is asked for, done, and answered."""
