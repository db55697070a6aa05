// Command kwok runs a cluster for Karpenter's kwok provider: the control plane of testenv and the nodes that the provider makes, whose kubelets
// kwok plays. There is no AWS, and nothing of Joiner.
//
//	go run ./testenv/bench/kwok -dir DIR -karpenter PROGRAM -apply DEFINITIONS   # until Ctrl-C; where everything is as a line of JSON
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

func main() {
	var o options
	flag.StringVar(&o.dir, "dir", "", "folder for kubeconfig, data and logs")
	flag.StringVar(&o.karpenter, "karpenter", "", "path of the controller of the kwok provider")
	flag.StringVar(&o.types, "types", "", "run nothing, and write the instance types that the provider sells to this file")
	flag.Func("apply", "path of a manifest, or of a folder of them, to apply before the controller starts; may be given more than once", func(path string) error {
		o.apply = append(o.apply, path)
		return nil
	})
	flag.Parse()
	klog.SetLogger(logr.Discard()) // client-go's own remarks; what matters is in our errors
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, o)
	if errors.Is(err, context.Canceled) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "kwok:", err)
		os.Exit(1)
	}
}
