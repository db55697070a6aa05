package kube_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/kube"
)

// plane is the control plane that all tests of this package share. Each test
// works in a namespace, with users and kinds, of its own.
var plane *kube.ControlPlane

// auditPolicy is that of ends, and notes what is done with configuration maps.
var auditPolicy = bytes.Replace(kube.AuditEnds, []byte("rules:\n"), []byte("rules:\n- level: Metadata\n  resources: [{group: \"\", resources: [configmaps]}]\n"), 1)

func TestMain(m *testing.M) {
	os.Exit(kube.Alone(func() int { return run(m) }))
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
		Assets: assets, AuditPolicy: auditPolicy, TokenWebhookConfig: webhookConfig,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer plane.Stop()
	fmt.Printf("control plane ready in %s\n", time.Since(begun).Round(time.Millisecond))
	return m.Run()
}
