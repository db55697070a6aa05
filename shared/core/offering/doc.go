// Package offering decides what can be bought: from hardware facts and a class to the instance types that class's nodes see
// ([Catalog]), less the offerings that lately gave no capacity ([Mask]), down to the image a type boots from ([ImageFor])
// and the list of capacity pools to ask a fleet for ([LaunchChoice]).
//
// It knows the arithmetic of EC2 and the kubelet (memory overhead, reservations, pod density, labels) and nothing of
// pods; which types a claim accepts is core/pack's, how the request is sent is the fleet adapter's.
//
//	types := offering.Catalog(facts, class, offering.Settings{Region: "eu-west-1"})
//	types = offering.Mask(types, class.Status.Subnets, unavailable, nowUnix)
//	choice, err := offering.LaunchChoice(offering.LaunchInput{Class: class, Types: types, InstanceTypes: claim.InstanceTypes,
//		Requirements: claim.Requirements})
package offering
