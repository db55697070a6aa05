package unit

import (
	"path"
	"strings"
)

// Suites about what the API server says of objects by their definitions begin with one of these. Joiner's definitions
// are in the place of Karpenter's, in these suites and in the others, and no plan is asked for in these.
const (
	schemas    = "apis/"
	awsSchemas = "aws/apis/" // of Karpenter's provider for AWS
)

// Suites are folders whose specs are run: below Karpenter's pkg/controllers, below its pkg where they begin with apis,
// and below the pkg of its provider for AWS where they begin with aws.
func Suites() []string {
	return []string{"provisioning/scheduling", "provisioning", "disruption", "nodeoverlay", "apis/v1", "apis/v1alpha1",
		"aws/apis/v1"}
}

// ofAWS reports whether a suite is of Karpenter's provider for AWS.
func ofAWS(suite string) bool { return strings.HasPrefix(suite, "aws/") }

// folder returns where a suite is in its module.
func folder(suite string) string {
	if of, ok := strings.CutPrefix(suite, "aws/"); ok {
		return path.Join("pkg", of)
	}
	if strings.HasPrefix(suite, schemas) {
		return path.Join("pkg", suite)
	}
	return path.Join("pkg/controllers", suite)
}

// runs reports whether what comes of a spec that passed is by something of Joiner's: it asked for that, or it is put to
// an API server with Joiner's definitions. Others of the suites of definitions call functions of Karpenter's alone.
func runs(o *Outcome) bool {
	if !strings.HasPrefix(o.Suite, schemas) && !strings.HasPrefix(o.Suite, awsSchemas) {
		return o.Asked > 0
	}
	file, _, _ := strings.Cut(path.Base(o.Place), ":")
	return strings.HasSuffix(file, "_validation_cel_test.go") || strings.HasSuffix(file, "_validation_test.go")
}
