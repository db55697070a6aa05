package lifecycle

import "github.com/joiner-sh/joiner/shared/model"

// Observation is what somebody found out about a claim.
type Observation string

// The observations that move a claim on.
const (
	InstanceLaunched         Observation = "MachineLaunched"      // CreateFleet gave it an instance
	LaunchFailed             Observation = "LaunchFailed"         // CreateFleet gave it none, or its launch is lost
	NodeRegistered           Observation = "NodeRegistered"       // its node joined and carries our labels
	NodeInitialized          Observation = "NodeInitialized"      // its node is ready for pods
	EndRequested             Observation = "EndAsked"             // it is to end, and its node may carry pods
	EndRequestedUnregistered Observation = "EndAskedUnregistered" // it is to end, and no node of it ever took part in the cluster
	NodeEmpty                Observation = "NodeEmpty"            // nothing is left on its node that has to be waited for
	InstanceEnded            Observation = "InstanceEnded"        // EC2 says that its instance was terminated
	InstanceMissing          Observation = "InstanceMissing"      // EC2 has not shown its instance for several looks, and no Ready node speaks for it
)

// table says what follows from an observation in a state. What is not in it changes nothing.
var table = map[Observation]map[model.ClaimState]model.ClaimState{
	InstanceLaunched: {model.Intended: model.Launched},
	LaunchFailed:     {model.Intended: model.Gone},
	NodeRegistered:   {model.Launched: model.Registered},
	NodeInitialized:  {model.Registered: model.Initialized},
	EndRequested: {
		model.Launched: model.Draining, model.Registered: model.Draining, model.Initialized: model.Draining,
	},
	EndRequestedUnregistered: {model.Launched: model.Terminating},
	NodeEmpty:                {model.Draining: model.Terminating},
	InstanceEnded:            ended,
	InstanceMissing:          ended,
}

// ended is what the end of an instance does to each state of a claim that has one.
var ended = map[model.ClaimState]model.ClaimState{
	model.Launched: model.Gone, model.Registered: model.Gone, model.Initialized: model.Gone, model.Draining: model.Gone, model.Terminating: model.Gone,
}

// Next returns the state a claim is in after an observation, and whether that is another one. A claim never goes back:
// one that is to end ends. A launch that is still open is settled before anything ends it.
func Next(state model.ClaimState, observation Observation) (model.ClaimState, bool) {
	next, moves := table[observation][state]
	if !moves {
		return state, false
	}
	return next, true
}

// AsksEnd returns what it means for a claim that it is to end: whether its node may carry pods. A node that joined and
// that we have not registered yet may, where it was adopted.
func AsksEnd(claim *model.Claim, nodes []model.Node) Observation {
	if claim.State == model.Launched && len(nodes) == 0 {
		return EndRequestedUnregistered
	}
	return EndRequested
}
