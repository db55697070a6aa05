package installation

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/cli"
	"github.com/joiner-sh/joiner/shared/adapter/s3catalog"
	"github.com/joiner-sh/joiner/shared/adapter/s3snapshot"
	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/model"
)

// RecordFlags say where records are read, and of which cluster.
type RecordFlags struct {
	Region, Profile, Cluster, Bucket, Dir string
}

// RecordsHelp says what commands that read records need.
const RecordsHelp = `It reads decision records, snapshots and catalog versions in the installation's bucket, which needs the permissions
s3:GetObject and s3:ListBucket on it, and ssm:GetParameter on /joiner/installation unless --bucket names it. With
--dir it reads files instead, as "aws s3 sync" writes them, and does not call AWS.`

// Register adds the flags.
func (f *RecordFlags) Register(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&f.Cluster, "cluster", "",
		"the `CLUSTER`, as it was attached (default: the only one there are records of)")
	flags.StringVar(&f.Region, "region", "", "the `REGION` of the installation (default: as for every AWS tool)")
	flags.StringVar(&f.Bucket, "bucket", "", "the installation's `BUCKET` (default: the installation says)")
	flags.StringVar(&f.Dir, "dir", "", "`FOLDER` with the bucket's objects, instead of the installation")
	RegisterProfile(command, &f.Profile)
	cli.NoFiles(command, "region", "bucket")
	cli.Must(command.RegisterFlagCompletionFunc("cluster", f.CompleteClusters()))
	cli.Must(command.MarkFlagDirname("dir"))
}

// Records are a bucket's, of one cluster.
type Records struct {
	client  *s3.Client
	bucket  string
	Cluster string
	Store   *s3snapshot.Store

	catalog *model.InstanceCatalog // the version read last
	version string                 // of it, with account and region
}

// Open finds bucket and cluster.
func (f *RecordFlags) Open(ctx context.Context) (*Records, error) {
	client, bucket, err := f.find(ctx)
	if err != nil {
		return nil, err
	}
	out := &Records{client: client, bucket: bucket, Cluster: f.Cluster, Store: s3snapshot.New(client, bucket)}
	if out.Cluster != "" {
		return out, nil
	}
	names, err := out.Store.Clusters(ctx)
	switch {
	case err != nil:
		return nil, fmt.Errorf("find the clusters with records: %w", err)
	case len(names) == 0:
		return nil, fmt.Errorf("no decision of any cluster is recorded in %s", cmp.Or(f.Dir, bucket))
	case len(names) > 1:
		return nil, fmt.Errorf("--cluster: there are decisions of several clusters: name one of %s",
			strings.Join(names, ", "))
	}
	out.Cluster = names[0]
	return out, nil
}

func (f *RecordFlags) find(ctx context.Context) (*s3.Client, string, error) {
	if f.Dir != "" {
		if _, err := os.ReadDir(f.Dir); err != nil {
			return nil, "", fmt.Errorf("--dir: %w; name a folder with the bucket's objects", err)
		}
		return FolderClient(f.Dir), FolderBucket, nil
	}
	at, err := (&Flags{Region: f.Region, Profile: f.Profile}).configure(ctx)
	if err != nil {
		return nil, "", err
	}
	if at.Bucket = f.Bucket; at.Bucket == "" {
		if at.Installation, err = readParameter(ctx, at.Config); err != nil {
			return nil, "", fmt.Errorf("--bucket: the bucket of snapshots and records is unknown: %w", err)
		}
	}
	return at.Objects(), at.Bucket, nil
}

// Catalogs are where what decisions went by lies.
func (r *Records) Catalogs(ctx context.Context) replay.Sources {
	catalogs := s3catalog.New(r.client, r.bucket, s3catalog.Settings{})
	return replay.Sources{
		Snapshot: func(manifest model.Manifest) (*model.Snapshot, error) {
			snapshot, err := r.Store.SnapshotAt(ctx, manifest)
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
