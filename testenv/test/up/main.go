// Command up runs Joiner's main job on this machine, with real parts and our model of AWS, and says what happens.
//
//	go run ./testenv/test/up          # until Ctrl-C
//	go run ./testenv/test/up -once    # until the example's pods run, then one line of JSON
//	go run ./testenv/test/up -empty   # until Ctrl-C, with nothing applied; where everything is as a line of JSON
//	go run ./testenv/test/up -down    # end one that was left behind
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/joiner-sh/joiner/testenv/test/stack"
)

func main() {
	var o options
	flag.BoolVar(&o.once, "once", false, "exit when the example's pods run, with a last line of JSON")
	flag.BoolVar(&o.empty, "empty", false, "apply nothing, and print one line of JSON that says where everything is: for programs that bring objects of their own")
	flag.IntVar(&o.pods, "pods", 20, "replicas of the example Deployment")
	flag.DurationVar(&o.within, "within", 10*time.Minute, "with -once: how long to wait for the pods")
	flag.StringVar(&o.dir, "dir", "", "folder for kubeconfig, data and logs (default: .cache/up in the project)")
	flag.Func("set", "a setting of the functions, such as JOINER_REPAIR_AFTER=1m; may be given more than once", func(text string) error {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return fmt.Errorf("it is NAME=VALUE")
		}
		if o.settings == nil {
			o.settings = map[string]string{}
		}
		o.settings[name] = value
		return nil
	})
	flag.Func("addon", "an EKS add-on of the cluster, "+stack.AddonEBS+" or "+stack.AddonVPC+"; may be given more than once", func(name string) error {
		o.addons = append(o.addons, name)
		return nil
	})
	flag.Func("sell", "an instance type that EC2 sells beside those it has, such as NAME=c5.xlarge: "+
		"c5.xlarge by another name; may be given more than once", func(text string) (err error) {
		o.types, err = sell(o.types, text)
		return err
	})
	flag.DurationVar(&o.boot, "boot", 0, "how long every machine takes from its launch until it runs (default: 3 to 6 s)")
	flag.BoolVar(&o.audit, "audit", false, "have the API server note who ends pods, nodes and NodeClaims")
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
