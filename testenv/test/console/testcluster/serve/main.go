// Command serve shows a cluster of testenv/test/console/testcluster in the console, for tests, screenshots and measurements:
//
//	go run ./testenv/test/console/testcluster/serve -nodes 5000 -listen 127.0.0.1:8080
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/joiner-sh/joiner/cmd/joiner/console"
	"github.com/joiner-sh/joiner/testenv/test/console/testcluster"
)

func main() {
	var (
		o       testcluster.Options
		listen  = flag.String("listen", "127.0.0.1:0", "address")
		every   = flag.Duration("every", time.Second, "between two looks, and two steps")
		shuffle = flag.Int("shuffle", 0, "pods to move with each step")
		story   = flag.Bool("story", true, "apps grow and shrink")
	)
	flag.IntVar(&o.Nodes, "nodes", 50, "nodes")
	flag.Uint64Var(&o.Seed, "seed", 1, "seed")
	flag.BoolVar(&o.Odd, "odd", true, "some pods can be held by nothing")
	flag.Parse()
	o.Now = time.Now()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, *listen, *every, *shuffle, *story); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o testcluster.Options, listen string, every time.Duration, shuffle int, story bool) error {
	began := time.Now()
	t, err := testcluster.New(o)
	if err != nil {
		return err
	}
	nodes, pods := t.Size()
	fmt.Printf("%d nodes, %d pods after %.1f s\n", nodes, pods, time.Since(began).Seconds())
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	hosts, err := console.Hosts(listener.Addr().String())
	if err != nil {
		return err
	}
	feed := console.NewFeed(t, console.Settings{Every: every, Now: t.Now})
	handler, err := console.NewServer(feed, hosts)
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/\n", listener.Addr())
	go feed.Run(ctx)
	go live(ctx, t, every, shuffle, story)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	context.AfterFunc(ctx, func() { server.Close() })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// live lets the cluster live: now and then an app grows, is planned for, shrinks, and loses nodes.
func live(ctx context.Context, t *testcluster.TestCluster, every time.Duration, shuffle int, story bool) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	names := []string{"shop/web", "data/spark-executor", "payments/fraud", "ml/embedder", "ci/runner"}
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		t.Step()
		if shuffle > 0 {
			t.Shuffle(shuffle)
		}
		if !story {
			continue
		}
		nodes, _ := t.Size()
		switch n % 40 {
		case 3:
			t.ScaleUp(names[n/40%len(names)], nodes/3+4)
		case 5:
			t.Plan()
		case 20:
			t.ScaleDown(0.06)
		case 22:
			t.Disrupt()
		case 12:
			t.Interrupt()
		case 13, 30:
			t.Plan()
		}
	}
}
