// Package userdata renders what an instance reads when it boots: how to join the cluster, with which labels and taints,
// and whatever the class's owner adds.
//
// It is text in, text out: who the cluster is and which pods fit is decided elsewhere. Each family reads its own
// format:
//
//	AL2           MIME document: the user's parts, then a script that calls bootstrap.sh
//	AL2023        MIME document: the user's parts, then our NodeConfig, which wins because it is last
//	Bottlerocket  TOML: the user's settings with ours laid over them
//	Windows       one PowerShell block: the user's text, then the call of the bootstrap script
//	Custom        the user's bytes as they are
//
// A user's text never reaches beyond its own part, and what a family cannot be given is refused with the field to
// change.
//
//	text, err := userdata.Render(userdata.Input{Class: class, Cluster: "web", Endpoint: url, CA: pem, MaxPods: 58})
package userdata
