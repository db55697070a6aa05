package main

import (
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
	"github.com/joiner-sh/joiner/cmd/joiner/read"
)

// dumpSource reads a cluster from files, and again when one of them has changed.
type dumpSource struct {
	from *sourceFlags
	in   io.Reader // what is read for -f -

	mu    sync.Mutex
	stamp string
	shown *console.Cluster
}

// Read returns the cluster of the files as they are.
func (d *dumpSource) Read(context.Context) (*console.Cluster, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	stamp, err := stampOf(d.from.files)
	if err != nil {
		return nil, err
	}
	if d.shown != nil && stamp == d.stamp {
		return d.shown, nil
	}
	at, err := when(d.from.now, time.Now())
	if err != nil {
		return nil, err
	}
	cluster, err := d.from.policies.cluster(d.in, &d.from.planFlags, at)
	if err != nil {
		return nil, err
	}
	offered, err := d.from.policies.catalogInput(&d.from.planFlags, cluster, at)
	if err != nil {
		return nil, err
	}
	claims, madeUp := cluster.LedgerClaims()
	clusterState := d.from.clusterOf(cluster, claims, &offered, at)
	d.shown, d.stamp = console.NewCluster(namesOf(d.from.files), "from files", clusterState), stamp
	d.shown.Warnings = slices.Concat(cluster.Warnings, unclaimed(madeUp), unpriced(claims, clusterState.Ask.Catalogs), offered.warnings)
	return d.shown, nil
}

// Records returns nothing: files say what is, not what was decided.
func (d *dumpSource) Records(context.Context, int64, int64) (console.Records, error) {
	return console.Records{}, nil
}

// namesOf names files for people.
func namesOf(files []string) string {
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = filepath.Base(file)
		if file == read.Stdin {
			names[i] = "standard input"
		}
	}
	return strings.Join(names, ", ")
}

// stampOf changes when a file does, or the files of a folder. Standard input does not.
func stampOf(files []string) (string, error) {
	var out strings.Builder
	add := func(path string, info os.FileInfo) {
		fmt.Fprintf(&out, "%s %d %d\n", path, info.Size(), info.ModTime().UnixNano())
	}
	for _, file := range files {
		if file == read.Stdin {
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
