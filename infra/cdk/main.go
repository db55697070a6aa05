package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

func main() {
	defer jsii.Close()
	writers := map[string]func(folder string) error{"templates": commit, "kept": keepOld}
	if write := writers[slices.Concat(os.Args, []string{"", ""})[1]]; write != nil && len(os.Args) == 3 {
		if err := write(os.Args[2]); err != nil {
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

// build makes the region's stack, and those of every cluster. CDK deploys stacks side by side as soon as their files are uploaded, and
// knows of no order but what it is given: the stacks name each other's resources by their names. A cluster's stack needs the region's: its
// roles trust the functions' roles, which IAM looks up, its queue feeds one function and another one registers it. So does the stack of the
// hub. The stack of a cluster in another account depends on neither: `cdk deploy STACK` deploys what it depends on, too, and its keys
// are of one account. It comes before the hub's since that one is made with its output.
func build(app awscdk.App, o Options) {
	region := newRegion(app, "joiner", o)
	for _, c := range o.Clusters {
		made := newCluster(app, "joiner-cluster-"+stackName(c.Name), c, o)
		if c.Account == "" {
			made.AddStackDependency(region, s("roles and functions of the region"))
		}
		if c.ExternalID != "" { // which is known once the cluster's stack is there
			newHub(app, "joiner-cluster-"+stackName(c.Name)+"-hub", c, o).AddStackDependency(region, s("functions of the region"))
		}
	}
}

// in is the account of a stack where it was given, so that CDK refuses keys of another one. The region is that of the keys.
func in(account string) *awscdk.Environment {
	if account == "" {
		return nil
	}
	return &awscdk.Environment{Account: s(account)}
}
