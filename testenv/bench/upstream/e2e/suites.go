//go:build suites

package e2e

// The suites are run by name; `go mod tidy` keeps what they are built of by these lines.
import (
	_ "github.com/aws/karpenter-provider-aws/test/pkg/environment/aws"
	_ "sigs.k8s.io/karpenter/dra-kwok-driver/pkg/controllers"
	_ "sigs.k8s.io/karpenter/test/pkg/environment/common"
	_ "sigs.k8s.io/karpenter/test/suites/performance"
)
