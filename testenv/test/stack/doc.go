// Package stack puts a whole Joiner together on one computer: our model of AWS, a real Kubernetes control plane that takes
// EKS bearer tokens, instances that join as nodes, a Lambda runtime with the real function binaries behind a FIFO queue and
// a schedule, and the real watcher as a process of its own.
//
// Queues, table, bucket, functions, rules, schedules, roles and what they may do are deployed from the templates of infra/cdk, those
// that ship: nothing is wired a second time here. Options change timings afterwards. What the policies do not allow is denied, and
// Denied tells of it.
//
// What EC2 has to say of its instances goes through an event bus with the rules of the region's stack into a queue of notices,
// which several batches of interruption take from at once. Further clusters can be added in the same account and region, and
// instances that belong to nobody's.
//
// A second account can be added, with a cluster that is attached by the templates for such (AddForeign): its EC2, EKS, IAM, SSM and event
// bus are apart, and what it may do in the first account the policies of both say.
//
// The first cluster can have the add-ons of EKS for EBS volumes and for pods with interfaces of their own (Options.Addons).
//
// EKS may know nothing of the first cluster (Options.SelfManaged): its control plane is one of kubeadm, instances of an
// image of its own join it by the user data of docs/tasks/self-managed.md, and its watcher has its role by the
// cluster's own issuer. In relay mode the committed template registers it; otherwise that template makes roles and queue
// alone, and whoever starts the stack attaches it by joiner attach.
//
// `make up` runs it for people, the end-to-end tests for themselves.
//
//	s, err := stack.Start(ctx, stack.Options{Progress: os.Stdout})
//	defer s.Stop()
//	err = s.Kube.Apply(ctx, manifest)
package stack
