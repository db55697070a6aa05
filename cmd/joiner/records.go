package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/shared/adapter/s3catalog"
	"github.com/joiner-sh/joiner/shared/adapter/s3snapshot"
	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/model"
)

// recordFlags say where records are read, and of which cluster.
type recordFlags struct {
	region, name, bucket, dir string
}

const recordsLong = `It reads decision records, snapshots and catalog versions in the installation's bucket, which needs the permissions
s3:GetObject and s3:ListBucket on it, and ssm:GetParameter on /joiner/installation unless --bucket names it. With
--dir it reads files instead, as "aws s3 sync" writes them, and does not call AWS.`

func (f *recordFlags) register(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&f.name, "cluster", "", "the `CLUSTER`, as it was attached (default: the only one there are records of)")
	flags.StringVar(&f.region, "region", "", "the `REGION` of the installation (default: as for every AWS tool)")
	flags.StringVar(&f.bucket, "bucket", "", "the installation's `BUCKET` (default: the installation says)")
	flags.StringVar(&f.dir, "dir", "", "`FOLDER` with the bucket's objects, instead of the installation")
	for _, name := range []string{"cluster", "region", "bucket"} {
		must(command.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions))
	}
	must(command.MarkFlagDirname("dir"))
}

// records are a bucket's, of one cluster.
type records struct {
	client  *s3.Client
	bucket  string
	cluster string
	store   *s3snapshot.Store

	catalog *model.InstanceCatalog // the version read last
	version string                 // of it, with account and region
}

// open finds bucket and cluster.
func (f *recordFlags) open(ctx context.Context) (*records, error) {
	client, bucket, err := f.find(ctx)
	if err != nil {
		return nil, err
	}
	out := &records{client: client, bucket: bucket, cluster: f.name, store: s3snapshot.New(client, bucket)}
	if out.cluster != "" {
		return out, nil
	}
	names, err := out.store.Clusters(ctx)
	switch {
	case err != nil:
		return nil, fmt.Errorf("find the clusters with records: %w", err)
	case len(names) == 0:
		return nil, fmt.Errorf("no decision of any cluster is recorded in %s", cmp.Or(f.dir, bucket))
	case len(names) > 1:
		return nil, fmt.Errorf("--cluster: there are decisions of several clusters: name one of %s", strings.Join(names, ", "))
	}
	out.cluster = names[0]
	return out, nil
}

func (f *recordFlags) find(ctx context.Context) (*s3.Client, string, error) {
	if f.dir != "" {
		return clientOfDir(f.dir), dirBucket, nil
	}
	at, err := (&place{region: f.region}).configure(ctx)
	if err != nil {
		return nil, "", err
	}
	if at.Bucket = f.bucket; at.Bucket == "" {
		if at.installation, err = readInstallation(ctx, at.config); err != nil {
			return nil, "", fmt.Errorf("--bucket: the bucket of snapshots and records is unknown: %w", err)
		}
	}
	return at.objects(), at.Bucket, nil
}

// catalogs are where what decisions went by lies.
func (r *records) catalogs(ctx context.Context) replay.Sources {
	catalogs := s3catalog.New(r.client, r.bucket, s3catalog.Settings{})
	return replay.Sources{
		Snapshot: func(manifest model.Manifest) (*model.Snapshot, error) {
			snapshot, err := r.store.SnapshotAt(ctx, manifest)
			if err == nil && snapshot.Seq > manifest.HeadSeq { // a later one is in memory
				return s3snapshot.New(r.client, r.bucket).SnapshotAt(ctx, manifest)
			}
			return snapshot, err
		},
		Catalog: func(account, region, version string) (*model.InstanceCatalog, error) {
			key := strings.Join([]string{account, region, version}, "/")
			if key == r.version {
				return r.catalog, nil
			}
			catalog, err := catalogs.ReadVersion(ctx, account, region, version)
			if err == nil {
				r.catalog, r.version = catalog, key
			}
			return catalog, err
		},
	}
}
