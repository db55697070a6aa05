package consolecmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/cmd/joiner/console"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/cli"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/input"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/source"
	"github.com/joiner-sh/joiner/cmd/joiner/read"
)

// dumpSource reads a cluster from files, and again when one of them has changed.
type dumpSource struct {
	from *source.Flags
	in   io.Reader // what is read for -f -

	mu    sync.Mutex
	stamp string
	shown *console.Cluster
}

// Read returns the cluster of the files as they are.
func (d *dumpSource) Read(context.Context) (*console.Cluster, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	stamp, err := stampOf(d.from)
	if err != nil {
		return nil, err
	}
	if d.shown != nil && stamp == d.stamp {
		return d.shown, nil
	}
	at, err := cli.At(d.from.Now, time.Now())
	if err != nil {
		return nil, err
	}
	cluster, err := d.from.Cluster(d.in, at)
	if err != nil {
		return nil, err
	}
	offered, err := d.from.Offered(cluster.Snapshot, at)
	if err != nil {
		return nil, err
	}
	claims, madeUp := cluster.LedgerClaims()
	clusterState := d.from.ClusterOf(cluster, claims, &offered, at)
	d.shown, d.stamp = console.NewCluster(namesOf(d.from), "from files", clusterState), stamp
	d.shown.Warnings = slices.Concat(cluster.Warnings, input.Unclaimed(madeUp),
		input.Unpriced(claims, clusterState.Ask.Catalogs), offered.Warnings)
	return d.shown, nil
}

// Records returns nothing: files say what is, not what was decided.
func (d *dumpSource) Records(context.Context, int64, int64) (console.Records, error) {
	return console.Records{}, nil
}

// namesOf names files for people, or a cluster by its context.
func namesOf(from *source.Flags) string {
	if len(from.Files) == 0 {
		return cmp.Or(from.Context, filepath.Base(from.Kubeconfig))
	}
	files := from.Files
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = filepath.Base(file)
		if file == read.Stdin {
			names[i] = "standard input"
		}
	}
	return strings.Join(names, ", ")
}

// stampOf changes when a file does, or the files of a folder; standard input and what a URL has do not. That of an API
// server changes every few seconds.
func stampOf(from *source.Flags) (string, error) {
	if len(from.Files) == 0 {
		return time.Now().Truncate(fullReadEvery).String(), nil
	}
	var out strings.Builder
	add := func(path string, info os.FileInfo) {
		fmt.Fprintf(&out, "%s %d %d\n", path, info.Size(), info.ModTime().UnixNano())
	}
	for _, file := range from.Files {
		if file == read.Stdin || read.IsURL(file) {
			continue
		}
		info, err := os.Stat(file)
		if err != nil {
			return "", fmt.Errorf("-f: %w", err)
		}
		add(file, info)
		if !info.IsDir() {
			continue
		}
		entries, err := os.ReadDir(file)
		if err != nil {
			return "", fmt.Errorf("-f: %w", err)
		}
		for _, entry := range entries {
			if info, err := entry.Info(); err == nil {
				add(filepath.Join(file, entry.Name()), info)
			}
		}
	}
	return out.String(), nil
}
