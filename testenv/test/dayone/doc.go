// Package dayone runs the commands that docs/getting-started.md and the pages of docs/tasks print, with the real tools, from an account in which there is nothing but an EKS cluster:
// cdk, the AWS CLI, helm, kubectl, make. AWS is our model over the wire; the cluster is a real control plane whose machines are modeled.
//
// A page says what is run: its fenced blocks, section by section, command by command, in one shell that goes on from block to block as a reader's does. What a
// reader fills in comes from a table (Table). A command that fails, fails the page.
//
// What differs from AWS, and why: functions are uploaded as they are printed, for arm64, and run as the same programs built for this machine; the
// watcher's image is pushed to the registry of ECR's model, and the watcher runs as a process with the identity, the settings and the Secret of the chart's
// Deployment, while one of its pods is on a node and the image it names is there: nobody runs containers here.
//
//	w, err := dayone.Start(ctx, dayone.Options{Cluster: "shop", Log: os.Stdout})
//	page, err := dayone.Read("docs/getting-started.md")
//	err = w.Run(ctx, page.Section("Ten minutes"))
package dayone
