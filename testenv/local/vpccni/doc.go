// Package vpccni is a model of the Amazon VPC CNI plugin and of the VPC resource controller that EKS runs beside it, as far as security groups for
// pods need them.
//
// It has the DaemonSet kube-system/aws-node. Where a pod of that runs with ENABLE_POD_ENI, a node of a type that takes branch interfaces gets as many
// vpc.amazonaws.com/pod-eni. A pod that a SecurityGroupPolicy matches when it is created requests one. No interfaces are made in EC2, and a pod has the
// address that it has without the plugin.
//
//	plugin, err := vpccni.Start(ctx, vpccni.Options{Kube: plane, BranchInterfaces: limits})
//	if err != nil {
//		return err
//	}
//	defer plugin.Stop()
//
// What the values rest on is written in ASSUMPTIONS.md.
package vpccni
