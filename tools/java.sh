#!/usr/bin/env bash
# Makes sure that there is a Java 17 or newer for Spark: silent if so, otherwise says how to get one.
# On Debian and its kin, as root, it installs one itself.
set -euo pipefail

java_version() {
    local java="${JAVA_HOME:+$JAVA_HOME/bin/}java"
    command -v "$java" >/dev/null 2>&1 || return 1
    # openjdk version "17.0.12" 2024-07-16, or java version "1.8.0_402"
    "$java" -version 2>&1 | sed -n 's/.*version "\(1\.\)\{0,1\}\([0-9]*\).*/\2/p' | head -n 1
}

enough() {
    local version
    version="$(java_version)" || return 1
    [ -n "$version" ] && [ "$version" -ge 17 ]
}

how_to() {
    if command -v apt-get >/dev/null 2>&1; then
        echo "sudo apt-get update && sudo apt-get install -y openjdk-17-jre-headless"
    elif command -v dnf >/dev/null 2>&1; then
        echo "sudo dnf install -y java-17-openjdk-headless"
    elif command -v apk >/dev/null 2>&1; then
        echo "sudo apk add openjdk17-jre-headless"
    elif command -v pacman >/dev/null 2>&1; then
        echo "sudo pacman -S --noconfirm jre17-openjdk-headless"
    elif command -v brew >/dev/null 2>&1; then
        echo "brew install openjdk@17 && export JAVA_HOME=\"\$(brew --prefix openjdk@17)\""
    else
        echo "see https://adoptium.net/temurin/releases/?version=17 for your system, then set JAVA_HOME"
    fi
}

enough && exit 0

if [ -n "${JAVA_HOME:-}" ] && ! java_version >/dev/null; then
    echo "Spark needs Java 17 or newer; JAVA_HOME is $JAVA_HOME, but there is no bin/java in it."
elif found="$(java_version)" && [ -n "$found" ]; then
    echo "Spark needs Java 17 or newer; this machine has Java $found."
else
    echo "Spark needs Java 17 or newer; this machine has none."
fi

if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1 && [ -z "${JAVA_HOME:-}" ]; then
    for release in 17 21; do # Debian 13 has dropped 17
        if [ "$release" = 17 ]; then apt-get update -q; fi
        if apt-cache show "openjdk-$release-jre-headless" >/dev/null 2>&1; then
            echo "Installing openjdk-$release-jre-headless."
            DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
                "openjdk-$release-jre-headless"
            break
        fi
    done
    enough && exit 0
fi

echo "Install it with:"
if [ "$(id -u)" -eq 0 ]; then how_to | sed 's/sudo //g; s/^/    /'; else how_to | sed 's/^/    /'; fi
exit 1
