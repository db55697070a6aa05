// Command up runs Joiner's main job on this machine, with real parts and our model of AWS, and says what happens.
//
//	go run ./testenv/up          # until Ctrl-C
//	go run ./testenv/up -once    # until the example's pods run, then one line of JSON
//	go run ./testenv/up -down    # end one that was left behind
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

func main() {
	var o options
	flag.BoolVar(&o.once, "once", false, "exit when the example's pods run, with a last line of JSON")
	flag.IntVar(&o.pods, "pods", 20, "replicas of the example Deployment")
	flag.DurationVar(&o.within, "within", 10*time.Minute, "with -once: how long to wait for the pods")
	flag.StringVar(&o.dir, "dir", "", "folder for kubeconfig, data and logs (default: .cache/up in the project)")
	flag.BoolVar(&o.down, "down", false, "end a run that was left behind and remove what it kept")
	flag.Parse()
	klog.SetLogger(logr.Discard()) // client-go's own remarks; what matters is in our errors
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, o)
	if errors.Is(err, context.Canceled) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "up:", err)
		os.Exit(1)
	}
}
