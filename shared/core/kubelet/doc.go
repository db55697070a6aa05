// Package kubelet works out what a class's kubelet configuration comes to on one instance type: the number of pods and the
// amounts reserved, where they are written as expressions (CEL) over the instance.
//
// It evaluates and rounds. Which fields there are and what they may hold is said where the class is read; what the result
// means for a node's room is core/offering's.
//
//	programs, problems := kubelet.Compile(class.Kubelet)
//	pods, err := programs.MaxPods(instance, 58)
//	kube, err := programs.KubeReserved(instance, pods)
//	text := kubelet.Text(model.Memory, kube[model.Memory]) // "640Mi"
package kubelet
