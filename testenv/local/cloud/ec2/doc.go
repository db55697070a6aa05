// Package ec2 is a model of Amazon EC2 for one account and region: what can be
// bought, capacity pools that run dry, instant fleets with partial results and
// client tokens, capacity reservations that can be lent, placement groups, copies of images, instances that take time
// to appear, boot, stop and go, with their volumes and interfaces, volumes of the account's own, tags, launch templates, a network that runs out of
// addresses, spot prices that move, spot requests and their interruption, status
// checks and scheduled events, quotas, throttling and dry runs. What it would send to
// EventBridge it tells OnEvent.
//
// Model is plain Go on an injected clock; NewHandler serves it on the wire
// protocol of EC2 (version 2016-11-15), so that unmodified SDK clients and the
// AWS CLI work; package iam serves the instance profiles it knows. It decides
// what EC2 would answer. Who calls belongs to the front door (Deny says what they
// may not do), what a
// instance does once it runs to whoever registers OnRunning and OnTerminated.
//
// What is not modeled is refused: a parameter the model does not know is an
// UnknownParameter error, never silently ignored.
//
//	m := ec2.New(ec2.Options{Clock: clock.System()})
//	m.OnRunning(func(i ec2.Instance) { fmt.Println(i.ID, i.Type, i.Zone, "joins") })
//	m.SetCapacity(ec2.Pool{Type: "m5.large", Zone: "us-west-2a", CapacityType: ec2.Spot}, 0)
//	http.ListenAndServe("127.0.0.1:8080", ec2.NewHandler(m))
package ec2
