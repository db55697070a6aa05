// Package problem makes scheduling problems to measure planners with: the pods, nodes, daemons and pool of a cluster,
// and what can be bought for it.
//
// A problem belongs to a family, which says what the pods are like; how many pods, nodes and instance types there are
// and the seed of the random numbers are parameters. The same [Spec] gives the same problem on every machine, so that two
// programs can be given one problem by its name.
//
//	bench           five kinds of pods in equal parts: plain, spread over zones, spread over hosts, near their like in one
//	                zone, and each on a host of its own; the mix of the peer's own benchmark
//	benchfake       the same on the arithmetic catalog of that benchmark
//	diverse         every pod its own size, three in ten picky about zone, architecture or capacity type
//	homogeneous     ten deployments of one size each
//	spread          twenty deployments, each spread over zones and hosts as a hard rule
//	gpu             four in ten pods want 1 to 8 GPUs
//	prefs           one deployment of preferences that cannot all be met
//	existing        diverse pods, and nodes 40 to 80 % full
//	existingfull    diverse pods, and nodes 90 to 97 % full
//	existingspread  spread pods, and nodes 40 to 80 % full
//	underused       no pod waits; on-demand nodes 30 to 50 % full, of a pool that allows spot
//	packed          no pod waits; spot nodes as full as they get, so that nothing is available by giving any back
//	guarded         no pod waits; nodes empty to 60 % full, of pools with all kinds of policies and budgets, and now and
//	                then with what keeps a node: do-not-disrupt, budgets of pods, pods that just came
//
// A problem is Kubernetes objects and a catalog: [Problem.Input] gives them to the planner, [Problem.WriteCluster] and
// [Problem.WriteCatalog] write them in the files that `joiner plan provision` reads. What a good answer is, packages
// check and bound say.
//
//	p, err := problem.New(problem.Spec{Family: "bench", Pods: 1000, Types: 400, Seed: 1})
//	plan := pack.Plan(p.Input())
package problem
