// Package userdata renders what a machine reads when it boots: how to join the cluster, with which labels and taints,
// and whatever the class's owner adds.
//
// It is text in, text out: who the cluster is and which pods fit is decided elsewhere. AL2023 gets a MIME document whose
// last part is our NodeConfig, so that it wins over the user's; Custom gets the user's bytes as they are. Other families
// are refused with the field to change.
//
//	text, err := userdata.Render(userdata.Input{Class: class, Cluster: "web", Endpoint: url, CA: pem, MaxPods: 58})
package userdata
