package unit

// Suites are the folders below Karpenter's pkg/controllers whose specs are run.
func Suites() []string {
	return []string{"provisioning/scheduling", "provisioning", "disruption"}
}
