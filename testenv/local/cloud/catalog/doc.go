// Package catalog holds the public facts about EC2 that the models of
// testenv/local/cloud serve: the instance types of one region with their shape,
// zones and prices, and the instance images published for EKS.
//
// The facts are three plain text tables. families.txt has one line per regular
// family (m6i, c7g, …), from which a type per size follows; ladders.txt holds
// what grows with the size in the same way in many families (interfaces,
// network, EBS bandwidth); types.txt has one line per type that follows no
// rule (burstable and accelerated types). Adding a family is adding a line.
//
// The package decides nothing about availability at a given moment, quotas or
// launches: that is the model in testenv/local/cloud/ec2. Prices are list prices and
// spot prices are made up, but always the same for a type and zone.
//
//	t, ok := catalog.Lookup("m7g.xlarge")
//	fmt.Println(ok, t.VCPUs, t.MemoryMiB, t.MaxPods(), t.OnDemandMicroUSDPerHour)
//	// true 4 16384 58 163200
package catalog
