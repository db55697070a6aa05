package kube_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/testenv/kube"
)

// plane is the control plane that all tests of this package share. Each test
// works in a namespace, with users and kinds, of its own.
var plane *kube.ControlPlane

const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  resources: [{group: "", resources: [configmaps]}]
- level: None
`

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	assets, err := kube.Binaries(ctx, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	webhook, webhookConfig, err := startTokenWebhook()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer webhook.Close()
	begun := time.Now()
	plane, err = kube.Start(ctx, kube.Options{
		Assets: assets, AuditPolicy: []byte(auditPolicy), TokenWebhookConfig: webhookConfig,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer plane.Stop()
	fmt.Printf("control plane ready in %s\n", time.Since(begun).Round(time.Millisecond))
	return m.Run()
}
