package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/publish"
)

// serveHealth answers the kubelet until ctx is done. Profiling is not served.
func serveHealth(ctx context.Context, address string, ready func() bool, logger *slog.Logger) {
	serve(ctx, "health", address, health(ready), logger)
}

// serveMetrics answers Prometheus until ctx is done.
func serveMetrics(ctx context.Context, address string, reported http.Handler, logger *slog.Logger) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", reported)
	serve(ctx, "metrics", address, mux, logger)
}

// serve answers requests at an address until ctx is done. That it cannot is fatal.
func serve(ctx context.Context, what, address string, handler http.Handler, logger *slog.Logger) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		fatal(logger, "serve "+what, err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { server.Close() })
	logger.Info("serving "+what, "address", listener.Addr().String())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		fatal(logger, "serve "+what, err)
	}
}

func health(ready func() bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !ready() {
			http.Error(w, "the cluster has not been seen yet", http.StatusServiceUnavailable)
		}
	})
	return mux
}

// log writes one line for what the flow did.
func log(logger *slog.Logger, n publish.Note) {
	logger = logger.With("epoch", n.Epoch, "seq", n.Seq, "waiting", n.Waiting)
	switch n.What {
	case "snapshot", "delta":
		logger.Debug("published "+n.What, "bytes", n.Bytes)
	case "hint":
		logger.Info("hint", "reason", n.Reason, "pods", n.Pods)
	case "leading":
		logger.Info("leading")
	default:
		logger.Warn(n.What, "error", n.Err.Error())
	}
}

func fatal(logger *slog.Logger, what string, err error) {
	logger.Error(what, "error", err.Error())
	os.Exit(1)
}
