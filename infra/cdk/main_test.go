package main

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// TestMain fails, and does not skip, where there is no node: CDK runs on it.
func TestMain(m *testing.M) {
	if _, err := exec.LookPath("node"); err != nil {
		fmt.Fprintln(os.Stderr, "infra/cdk: node is not on the PATH; install Node.js 22 or 24 (CDK runs on it):", err)
		os.Exit(1)
	}
	os.Setenv("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "1")
	code := m.Run()
	if !racing { // jsii's own Close races with its reader of node's output; node ends with this process all the same
		jsii.Close()
	}
	os.Exit(code)
}

// made is one app with every variant's stack, evaluated by watchOver, and what it synthesized: node takes seconds to start.
type made struct {
	stacks    map[string]awscdk.Stack
	templates map[string][]byte
}

var theApp = sync.OnceValues(func() (made, error) {
	zips, err := os.MkdirTemp("", "joiner-cdk-")
	if err != nil {
		return made{}, err
	}
	defer os.RemoveAll(zips)
	return synthesise(zips)
})

func synthesise(zips string) (made, error) {
	if err := emptyZips(zips, Options{Webhook: true}); err != nil {
		return made{}, err
	}
	app := awscdk.NewApp(&awscdk.AppProps{AnalyticsReporting: jsii.Bool(false)})
	watchOver(app)
	out := made{stacks: map[string]awscdk.Stack{}}
	var err error
	out.templates, err = templates(app, variants(), Options{Zips: zips, DryRun: true}.withDefaults(), out.stacks)
	return out, err
}

// synthesized returns the one app of this process.
func synthesised(t *testing.T) made {
	t.Helper()
	m, err := theApp()
	if err != nil {
		t.Fatal(err)
	}
	return m
}
