// Package speccases reads the questions that Karpenter's unit specs put to Joiner: testenv/bench/upstream/unit writes them, and keeps them in its
// testdata. They are here for whoever cannot have Karpenter in the build: the oracle evaluates plans of them, and fuzz tests start from
// their objects, of which those that differ are kept here (seeds.json.gz). `make upstream-unit WRITE=1` writes both.
//
//	cases, err := speccases.Read("../upstream/unit/testdata/cases.json.gz")
//	seeds, err := speccases.Kept()
package speccases
