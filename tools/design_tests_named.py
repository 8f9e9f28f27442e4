"""The tests that the five design documents name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Named:
    """A test that a design document names."""

    document: str
    section: str
    name: str


DOCUMENTS = {
    "000": "Circular references in the stream table dependency graph",
    "001": "Stratified evaluation",
    "002": "Truly mutually recursive CTEs via stream table decomposition",
    "003": "Circular references, the earlier version",
    "004": "Diamond dependency consistency",
}

_BY_SECTION: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("000", "Part 1"): (
        "test_scc_no_cycles",
        "test_scc_simple_cycle",
        "test_scc_mixed",
        "test_scc_self_loop",
        "test_condensation_order_is_topological",
    ),
    ("000", "Part 2"): (
        "test_scan_filter_project_is_monotone",
        "test_join_is_monotone",
        "test_aggregate_is_not_monotone",
        "test_except_is_not_monotone",
        "test_window_is_not_monotone",
        "test_nested_non_monotone_detected",
    ),
    ("000", "Part 8"): (
        "Test 1: Simple cycle with monotone queries",
        "Test 2: Non-monotone cycle rejected",
        "Test 3: Convergence within max_iterations",
        "Test 4: Non-convergence hits max_iterations",
        "Test 5: Drop member breaks cycle",
        "Test 6: allow_circular=false rejects cycles",
    ),
    ("001", "§9.1"): (
        "test_classify_scan_is_monotone",
        "test_classify_anti_join_subquery_source_is_non_monotone",
        "test_classify_anti_join_left_source_is_monotone",
        "test_classify_except_right_source_is_non_monotone",
        "test_classify_except_left_source_is_monotone",
        "test_classify_aggregate_source_is_non_monotone",
        "test_classify_join_both_sources_are_monotone",
        "test_classify_nested_non_monotone_detected",
        "test_assign_strata_linear_chain",
        "test_assign_strata_non_monotone_edge",
        "test_assign_strata_diamond_with_mixed_edges",
        "test_assign_strata_non_monotone_cycle_is_unstratifiable",
        "test_assign_strata_monotone_cycle_ok",
        "test_self_ref_in_join_is_monotone",
        "test_self_ref_in_except_right_is_non_monotone",
        "test_self_ref_in_anti_join_left_is_monotone",
        "test_external_anti_join_with_monotone_self_ref_is_stratifiable",
    ),
    ("001", "§9.2"): (
        "test_stratified_cycle_with_external_not_exists_allowed",
        "test_non_stratifiable_cycle_with_intra_not_exists_rejected",
        "test_stratified_cycle_with_external_except_allowed",
        "test_stratum_assignment_visible_in_status",
        "test_downstream_stratum_skipped_when_upstream_unchanged",
        "test_downstream_not_skipped_when_base_table_has_changes",
        "test_recursive_cte_cycle_elimination_uses_dred",
        "test_recursive_cte_external_anti_join_uses_dred",
        "test_recursive_cte_self_ref_in_except_still_recomputes",
    ),
    ("001", "§9.3"): ("test_stratified_cycle_matches_ground_truth",),
    ("002", "§8.1"): (
        "test_detect_simple_mutual_recursion",
        "test_detect_three_way_mutual_recursion",
        "test_no_mutual_recursion_single_cte",
        "test_no_mutual_recursion_independent_ctes",
        "test_mixed_mutual_and_independent",
        "test_rewrite_simple_pair",
        "test_rewrite_preserves_base_case",
        "test_rewrite_preserves_self_reference",
        "test_rewrite_replaces_cross_reference",
        "test_rewrite_handles_quoted_identifiers",
        "test_rewrite_handles_column_lists",
    ),
    ("002", "§8.2"): (
        "test_mutual_recursion_detection_generates_helpful_error",
        "test_mutual_recursion_manual_decomposition_converges",
        "test_mutual_recursion_bidirectional_reachability",
        "test_mutual_recursion_entity_propagation",
        "test_mutual_recursion_three_way_cycle",
        "test_mutual_recursion_incremental_after_base_insert",
        "test_mutual_recursion_incremental_after_base_delete",
        "test_mutual_recursion_nonmonotone_rejected",
        "test_mutual_recursion_convergence_monitoring",
    ),
    ("002", "§8.3"): ("test_mutual_recursion_matches_ground_truth",),
    ("004", "Step 2"): (
        "test_detect_diamonds_simple",
        "test_detect_diamonds_deep",
        "test_detect_diamonds_none",
        "test_detect_diamonds_none_linear",
        "test_detect_diamonds_overlapping",
        "test_detect_diamonds_multiple_roots",
        "test_detect_diamonds_multiple_roots_no_diamond",
    ),
    ("004", "Step 3"): (
        "test_groups_simple_diamond",
        "test_groups_singleton_non_diamond",
        "test_groups_nested_merge",
        "test_groups_independent_diamonds",
        "test_consistency_group_epoch_advance",
        "test_consistency_group_is_singleton",
    ),
    ("004", "Step 4"): (
        "test_catalog_diamond_consistency_default",
        "test_catalog_diamond_consistency_override",
        "test_diamond_consistency_as_str",
        "test_diamond_consistency_from_sql_str",
        "test_diamond_consistency_display",
        "test_diamond_consistency_roundtrip",
    ),
    ("004", "Step 7"): (
        "test_diamond_atomic_all_succeed",
        "test_diamond_atomic_partial_fail",
        "test_diamond_atomic_convergence",
        "test_diamond_none_mode_unblocked",
        "test_diamond_linear_unaffected",
        "test_diamond_nested_merge",
        "test_diamond_groups_sql_function",
        "test_diamond_consistency_default",
        "test_diamond_consistency_create_atomic",
        "test_diamond_consistency_alter",
        "test_diamond_none_mode_no_groups",
        "test_diamond_consistency_in_catalog_view",
    ),
}


def _named() -> Iterator[Named]:
    for (document, section), names in _BY_SECTION.items():
        for name in names:
            yield Named(document, section, name)


NAMED = tuple(_named())

#: Tests of the documents that are not here, with the reason; one that a docstring names is here all the same.
_NO_ENUM = "not here: it is a plain word in YAML and in the plan, no enum with a text of its own"
NOT_HERE: Mapping[Named, str] = {
    Named("004", "Step 4", "test_diamond_consistency_as_str"): _NO_ENUM,
    Named("004", "Step 4", "test_diamond_consistency_display"): _NO_ENUM,
}
