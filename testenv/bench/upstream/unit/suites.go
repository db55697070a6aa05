package unit

import (
	"path"
	"strings"
)

// schemas are the suites about what the API server says of objects by their definitions. Joiner's definitions are in the
// place of Karpenter's, in these suites and in the others, and no plan is asked for in these.
const schemas = "apis/"

// Suites are folders whose specs are run, below Karpenter's pkg/controllers, or below its pkg where they are of
// [schemas].
func Suites() []string {
	return []string{"provisioning/scheduling", "provisioning", "disruption", "nodeoverlay", "apis/v1", "apis/v1alpha1"}
}

// folder returns where a suite is in Karpenter's module.
func folder(suite string) string {
	if strings.HasPrefix(suite, schemas) {
		return path.Join("pkg", suite)
	}
	return path.Join("pkg/controllers", suite)
}
