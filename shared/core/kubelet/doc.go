// Package kubelet works out what a class's kubelet configuration comes to on one machine type: the number of pods and the
// amounts reserved, where they are written as expressions (CEL) over the machine.
//
// It evaluates and rounds. Which fields there are and what they may hold is said where the class is read; what the result
// means for a node's room is core/offering's.
//
//	programs, problems := kubelet.Compile(class.Kubelet)
//	pods, err := programs.MaxPods(machine, 58)
//	kube, err := programs.KubeReserved(machine, pods)
//	text := kubelet.Text(model.Memory, kube[model.Memory]) // "640Mi"
package kubelet
