package pack

import "github.com/joiner-sh/joiner/shared/model"

// Input is everything a plan depends on. Plan reads it and keeps nothing of it.
type Input struct {
	Snapshot *model.Snapshot
	// Catalogs is what each class can buy, by class name, unavailable offers included. A pool whose class is absent is
	// reported as ClassNotReady.
	Catalogs map[string][]model.InstanceType
	// ClassProblems says why a class cannot be used now, by class name. Such a class's pools are not used even where
	// Catalogs has it.
	ClassProblems map[string]string
	// Claims are the ledger's. Live ones are capacity on its way until their node is in the snapshot.
	Claims []model.Claim
	// Usage is what is held against each pool's limits, by pool name, with nodes.
	Usage map[string]model.Resources
	// Marks only serve reasons: until when an unavailable offer is left alone. Catalogs already show their effect.
	Marks []model.Mark
	// Pending are the pods to place, as indexes into Snapshot.Pods; nil means every provisionable one. A pod listed here
	// takes nothing of the node it is bound to.
	Pending []int
	NowUnix int64
	// Salt goes into the claims' names, so that planning the same pods again after a failed launch gives new names.
	Salt string
}

// Plan says which pods fit what exists or is on its way, which claims to make for the others, and why nothing can hold
// the rest. Every pending pod is in exactly one of the three lists.
func Plan(in Input) model.Plan {
	return model.Plan{Claims: []model.PlannedClaim{}, Nominations: []model.Nomination{}, Unschedulable: []model.Unschedulable{}}
}

// Provisionable reports whether pod i of the snapshot asks for capacity; where it does not, why says so in a sentence.
func Provisionable(snapshot *model.Snapshot, i int) (ok bool, why string) {
	return false, ""
}
