// Package lifecycle says what is wrong between the instances EC2 shows, the claims the ledger has and the nodes and
// NodeClaim objects the API server has, and what an instance that belongs to nobody becomes. It only looks: how long
// something must have looked wrong before anybody acts is part of what it finds.
//
//	findings := lifecycle.Diagnose(view, lifecycle.Settings{})
//
// An instance is known by its instance id and by nothing else, neither host name nor place in a list. Something without
// an id matches nothing.
//
// Next is the one table by which a claim's state changes, whoever changes it. A claim only moves forward, and one that
// is to end ends:
//
//	observation           Intent    Launched     Registered   Initialized  Draining     Terminating
//	InstanceLaunched       Launched
//	LaunchFailed          Gone
//	NodeRegistered                  Registered
//	NodeInitialized                              Initialized
//	EndRequested                        Draining     Draining     Draining
//	EndRequestedUnregistered            Terminating
//	NodeEmpty                                                              Terminating
//	InstanceEnded                   Gone         Gone         Gone         Gone         Gone
//	InstanceMissing                 Gone         Gone         Gone         Gone         Gone
package lifecycle
