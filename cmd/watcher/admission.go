package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/admission"
	"github.com/joiner-sh/joiner/shared/adapter/s3catalog"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/flow/review"
	"github.com/joiner-sh/joiner/shared/model"
)

// patience is how long the region's catalog is waited for. API servers wait two seconds in all.
const patience = 1200 * time.Millisecond

// evaluate answers admissions by what the watcher sees of the cluster and by the catalog of its account and region.
func (s *settings) evaluate(config aws.Config, cache *review.Cache, logger *slog.Logger) admission.EvaluateFunc {
	flow := &review.Flow{
		Catalogs: s3catalog.New(s3.NewFromConfig(config), s.Bucket, s3catalog.Settings{}), Objects: cache,
		Offerings: offering.Settings{MemoryOverheadPPM: int64(s.Overhead), ReservedENIs: int64(s.ReservedENIs),
			NodeClassCEL: s.NodeClassCEL},
		Patience: patience, Now: time.Now,
	}
	reg := model.Registration{Cluster: s.Cluster, Account: s.Account, Region: config.Region}
	return func(ctx context.Context, a model.Admission) model.Verdict {
		verdict, err := flow.Admit(ctx, reg, a)
		if err != nil {
			logger.Warn("reviewed without the catalog", "account", s.Account, "error", err.Error())
		}
		logger.Info("review", "operation", a.Operation, "refusals", len(verdict.Refusals), "warnings",
			len(verdict.Warnings))
		return verdict
	}
}

// serveAdmission answers the API server over TLS until ctx is done, whether this replica leads or not.
func serveAdmission(
	ctx context.Context, address string, keys *certificate, evaluate admission.EvaluateFunc, logger *slog.Logger,
) {
	if _, err := keys.get(nil); err != nil {
		fatal(logger, "serve admission", err)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		fatal(logger, "serve admission", err)
	}
	mux := http.NewServeMux()
	mux.Handle("POST /admit", admission.Handler(evaluate,
		func(err error) { logger.Warn("a review that cannot be answered", "error", err.Error()) }))
	server := &http.Server{
		Handler: mux, TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: keys.get},
		ReadTimeout: 3 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 16 << 10,
		// anybody in the network may shake hands badly
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
	context.AfterFunc(ctx, func() { server.Close() })
	logger.Info("serving admission", "address", listener.Addr().String())
	if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
		fatal(logger, "serve admission", err)
	}
}

// certificate is the pair tls.crt and tls.key of a folder, read again when either has changed: a Secret that is mounted
// is replaced under a running pod. While the new pair cannot be read the old one serves on.
type certificate struct {
	folder string
	logger *slog.Logger

	mu      sync.Mutex
	pair    *tls.Certificate
	version string // when the files were written
}

// get returns the pair for a handshake.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	public, private := filepath.Join(c.folder, "tls.crt"), filepath.Join(c.folder, "tls.key")
	version := written(public) + " " + written(private)
	if c.pair != nil && version == c.version {
		return c.pair, nil
	}
	pair, err := tls.LoadX509KeyPair(public, private)
	switch {
	case err == nil:
		c.pair = &pair
	case c.pair == nil:
		return nil, fmt.Errorf("read tls.crt and tls.key in JOINER_WEBHOOK_CERT_DIR %s: %w", c.folder, err)
	default:
		c.logger.Warn("the new certificate cannot be read; the old one is used", "error", err.Error())
	}
	c.version = version
	return c.pair, nil
}

// written says when a file was written, and how large it is; "" where it is not there.
func written(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.ModTime().UnixNano(), " ", info.Size())
}
