package main

import (
	"fmt"
	"os"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

func main() {
	defer jsii.Close()
	if len(os.Args) == 3 && os.Args[1] == "templates" {
		if err := commit(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	app := awscdk.NewApp(&awscdk.AppProps{AnalyticsReporting: jsii.Bool(false)})
	options, err := readOptions(contextOf(app))
	if err == nil {
		err = missingZips(options)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	build(app, options)
	watchOver(app)
	app.Synth(nil)
}

// build makes the region's stack, and those of every cluster.
func build(app awscdk.App, o Options) {
	newRegion(app, "joiner", o)
	for _, c := range o.Clusters {
		newCluster(app, "joiner-cluster-"+stackName(c.Name), c, o)
		if c.ExternalID != "" { // which is known once the cluster's stack is there
			newHub(app, "joiner-cluster-"+stackName(c.Name)+"-hub", c, o)
		}
	}
}
