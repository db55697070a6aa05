// Package ec2catalog reads what can be bought in a region (instance types, offerings, prices) and what the selectors of
// a class mean now (subnets, security groups, images, instance profile).
//
// It reports facts and keeps them for a while; what a node of a type can hold, which image wins and what to buy is
// decided elsewhere. What it keeps carries its age. When a refresh fails, what was read before stays in use and says
// how old it is: absence of an answer is no evidence that anything is gone.
//
//	clients := ec2catalog.Clients{EC2: ec2.NewFromConfig(config), …}
//	region := ec2catalog.New(clients, ec2catalog.Settings{Region: "eu-west-1"})
//	instances, err := region.InstanceTypes(ctx)
//	status, err := region.Resolve(ctx, class, queries)
package ec2catalog
