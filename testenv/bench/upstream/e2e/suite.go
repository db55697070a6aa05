package e2e

import "slices"

// Suite is one of upstream's.
type Suite struct {
	Name     string
	Package  string // as `go test` takes it
	AWS      bool   // of Karpenter's AWS provider: it calls AWS itself and brings its own objects
	Whole    bool   // something is expected of all its specs together: they run in one process
	Measures bool   // it asks what Karpenter takes of the machine: it sees a Controller
	Driver   Driver // runs beside its specs; zero = nothing does
	Classes  bool   // it deletes NodeClasses and waits for their end before it deletes their nodes (freeClasses)
}

// Driver is a program of upstream's that specs count on, as Karpenter's makefiles install it for them.
type Driver struct {
	Package    string // as `go build` takes it; its folder has Definition
	Definition string // of the objects that it reads: a file of a CustomResourceDefinition
	Ready      string // URL that answers 200 once it runs; its port is fixed
}

const ofAWS = "github.com/aws/karpenter-provider-aws/test/suites/"

// Suites are those that specs.csv names.
var Suites = []Suite{
	{Name: "core/regression", Package: "sigs.k8s.io/karpenter/test/suites/regression"},
	{Name: "core/performance", Package: "sigs.k8s.io/karpenter/test/suites/performance", Measures: true},
	{Name: "core/dra", Package: "sigs.k8s.io/karpenter/test/suites/dra", Classes: true, Driver: Driver{
		Package:    "sigs.k8s.io/karpenter/dra-kwok-driver",
		Definition: "pkg/apis/crds/test.karpenter.sh_draconfigs.yaml", Ready: "http://127.0.0.1:8083/readyz",
	}},
	{Name: "aws/ami", Package: ofAWS + "ami", AWS: true},
	{Name: "aws/consolidation", Package: ofAWS + "consolidation", AWS: true},
	{Name: "aws/drift", Package: ofAWS + "drift", AWS: true},
	{Name: "aws/integration", Package: ofAWS + "integration", AWS: true},
	{Name: "aws/interruption", Package: ofAWS + "interruption", AWS: true},
	{Name: "aws/ipv6", Package: ofAWS + "ipv6", AWS: true},
	{Name: "aws/localzone", Package: ofAWS + "localzone", AWS: true},
	{Name: "aws/nodeclaim", Package: ofAWS + "nodeclaim", AWS: true},
	{Name: "aws/scale", Package: ofAWS + "scale", AWS: true},
	{Name: "aws/scheduling-besteffort", Package: ofAWS + "scheduling-besteffort", AWS: true, Whole: true},
	{Name: "aws/scheduling-strict", Package: ofAWS + "scheduling-strict", AWS: true, Whole: true},
	{Name: "aws/storage", Package: ofAWS + "storage", AWS: true},
}

func suiteOf(name string) (Suite, bool) {
	i := slices.IndexFunc(Suites, func(s Suite) bool { return s.Name == name })
	if i < 0 {
		return Suite{}, false
	}
	return Suites[i], true
}
