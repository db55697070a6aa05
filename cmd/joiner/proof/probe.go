package proof

import (
	"context"
	"time"
)

// Kind says what a probe does to the account.
type Kind string

// Kinds of probes, from those that change nothing on.
const (
	KindDryRuns   Kind = "dry"      // describes and dry runs: nothing is made
	KindSmall     Kind = "small"    // makes queues, tables, buckets, roles, templates of its own: free, or less than a cent
	KindInstances Kind = "machines" // runs instances of the smallest type for some minutes
)

// Needs says what a probe cannot do without.
type Needs struct {
	Cluster        bool // an EKS cluster, named by the caller
	NotFirstRegion bool // a region other than us-east-1
	NamedCaller    bool // a caller that is no root user
}

// Probe is one assumption and how it is tried.
type Probe struct {
	ID         string // of the assumption in testenv/local/cloud/ASSUMPTIONS.md
	Service    string // as IAM names it, e.g. "sqs"
	Assumption string // what is taken for granted: a sentence
	About      string // which calls are made
	Kind       Kind
	Cost       float64       // US dollars at most, this probe run alone, without what probes share (SharedCost)
	Lasts      time.Duration // about how long, without what probes share
	Rights     []string      // IAM actions the caller needs, beside those that every run needs
	Needs      Needs
	// Readings are the ways to read AWS's documentation, first the one our model of AWS follows unless it is set otherwise: where
	// there are several, the stricter one for Joiner. Joiner works under all of them.
	Readings []Reading
	// Run makes the calls. The error says that nothing can be evaluated.
	Run func(ctx context.Context, e *Env) (Seen, error)
}

// Match compares what was seen with the readings of a probe and returns the name of the one that fits, the first of several;
// "" where none does.
func Match(p Probe, seen Seen) (v Verdict, reading string) {
	for i, r := range p.Readings {
		if len(Mismatches(r, seen)) > 0 {
			continue
		}
		if i == 0 {
			return Pass, r.Name
		}
		return Differs, r.Name
	}
	return Fail, ""
}
