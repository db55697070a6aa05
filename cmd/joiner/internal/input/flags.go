package input

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/cli"
	"github.com/joiner-sh/joiner/cmd/joiner/read"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/model"
)

// Flags say which files a cluster is read from, and how it is planned for.
type Flags struct {
	Files               []string
	Kubeconfig, Context string // of a cluster that is read instead of files
	Catalog             string // file of it; "" = the built-in one
	Now                 string // "" = the clock's
	Output              string // see cli.OutputFlag
	AsSeen              bool   // see read.Options
	Recursive           bool   // see read.Options
	Kustomize           string // see read.Options

	live                                  bool // read the cluster of the kubeconfig where nothing is named
	preferences, minValues, defaultSpread string
	nodeClassCEL                          bool
}

// The values of the policies, spelled as the settings of the functions.
const (
	respect    = "Respect"
	ignore     = "Ignore"
	strict     = "Strict"
	bestEffort = "BestEffort"
)

// Register adds the flags of a command that plans for files.
func (f *Flags) Register(command *cobra.Command) {
	f.live = true
	f.registerFiles(command, "`FILE`, folder, URL, or - for standard input, instead of a cluster; may be repeated",
		"JSON `FILE` of instance types and prices (default: the built-in catalog)")
	command.Flags().StringVar(&f.Now, "now", "", "the `TIME` to plan at, such as 2026-01-02T15:04:05Z (default: now)")
	cli.OutputFlag(command, &f.Output, "output format")
	cli.NoFiles(command, "now")
}

// RegisterFiles adds the flags of a command that may do without a cluster.
func (f *Flags) RegisterFiles(command *cobra.Command) {
	f.live = true
	f.registerFiles(command, "`FILE`, folder, URL, or - for standard input; may be repeated",
		"JSON `FILE` of instance types and prices (default: the built-in catalog)")
}

// RegisterInstead adds the flags of a cluster given as files to a command that asks an installation without them.
func (f *Flags) RegisterInstead(command *cobra.Command) {
	f.AsSeen = true
	f.registerFiles(command,
		"`FILE`, folder, URL, or - for standard input, instead of the installation; may be repeated",
		"with -f: JSON `FILE` of instance types and prices (default: the built-in catalog)")
}

func (f *Flags) registerFiles(command *cobra.Command, filename, catalog string) {
	flags := command.Flags()
	flags.StringArrayVarP(&f.Files, "filename", "f", nil, filename)
	flags.BoolVarP(&f.Recursive, "recursive", "R", false, "with -f: read the folders in folders too")
	flags.StringVarP(&f.Kustomize, "kustomize", "k", "",
		"`FOLDER` or URL to build objects of by kustomize, as kubectl -k")
	flags.StringVar(&f.Kubeconfig, "kubeconfig", "", "instead of -f: read the cluster of this kubeconfig `FILE`")
	flags.StringVar(&f.Context, "context", "", "instead of -f: read the cluster of this `CONTEXT` of the kubeconfig")
	cli.Must(command.MarkFlagDirname("kustomize"))
	flags.StringVar(&f.Catalog, "catalog", "", catalog)
	cli.Must(command.MarkFlagFilename("kubeconfig"))
	cli.Must(command.MarkFlagFilename("filename", "json", "yaml", "yml", "gz"))
	cli.Must(command.MarkFlagFilename("catalog", "json", "gz"))
	cli.Choice(command, &f.preferences, "preference-policy", respect, []string{respect, ignore},
		"preferred affinity and ScheduleAnyway spread")
	cli.Choice(command, &f.minValues, "min-values-policy", strict, []string{strict, bestEffort},
		"if minValues cannot be met: refuse pods, or lower it")
	flags.StringVar(&f.defaultSpread, "default-spread", "",
		"defaultConstraints of kube-scheduler, a YAML or JSON `LIST` (default: none)")
	flags.BoolVar(&f.nodeClassCEL, "node-class-cel", false, "allow expressions in spec.kubelet of EC2NodeClasses")
	cli.NoFiles(command, "default-spread")
	cli.Contexts(command)
}

// At returns the time to plan at.
func (f *Flags) At() (time.Time, error) {
	if f.Now == "" {
		return time.Now(), nil
	}
	now, err := time.Parse(time.RFC3339, f.Now)
	if err != nil {
		return now, fmt.Errorf("--now: %q: not a time; write one such as 2026-01-02T15:04:05Z", f.Now)
	}
	return now, nil
}

// IgnorePreferences reports whether preferences of pods are left out.
func (f *Flags) IgnorePreferences() bool { return f.preferences == ignore }

// BestEffortMinValues reports whether minValues are lowered where they cannot be met.
func (f *Flags) BestEffortMinValues() bool { return f.minValues == bestEffort }

// Given reports whether a cluster is given: as files, or by a kubeconfig.
func (f *Flags) Given() bool { return f.manifests() || f.Kubeconfig != "" || f.Context != "" }

// manifests reports whether objects are given as files.
func (f *Flags) manifests() bool { return len(f.Files) > 0 || f.Kustomize != "" }

// Cluster reads the cluster.
func (f *Flags) Cluster(in io.Reader, now time.Time) (*read.Cluster, error) {
	spread, err := translate.ParseDefaultSpread(f.defaultSpread)
	if err != nil {
		return nil, fmt.Errorf("--default-spread: %w", err)
	}
	options := read.Options{Stdin: in, NowUnix: now.Unix(), DefaultSpread: spread, AsSeen: f.AsSeen,
		Recursive: f.Recursive, Kustomize: f.Kustomize}
	named := f.Kubeconfig != "" || f.Context != ""
	if named && f.manifests() {
		return nil, errors.New("-f: it excludes --kubeconfig and --context; give files or a cluster")
	}
	if !f.manifests() {
		return f.liveCluster(options, named)
	}
	cluster, err := read.Files(f.Files, options)
	if err == nil && cluster.Objects == 0 {
		return nil, errEmpty(cluster.Warnings)
	}
	return cluster, err
}

// errEmpty says that the input has nothing to plan for: a failed command in front of a pipe is no good news.
func errEmpty(leftOut []string) error {
	if len(leftOut) > 0 {
		return fmt.Errorf("-f: the input has no object that planning looks at: %s", strings.Join(leftOut, "; "))
	}
	return errors.New("-f: the input has no objects; did kubectl fail? Give what \"kubectl get ... -o json\" prints")
}

// liveCluster reads the cluster of a kubeconfig. Where nobody has named it, it is the one that kubectl would reach.
func (f *Flags) liveCluster(options read.Options, named bool) (*read.Cluster, error) {
	if !named {
		config, err := f.server().ToRawKubeConfigLoader().RawConfig()
		inside := os.Getenv("KUBERNETES_SERVICE_HOST") != ""
		if !f.live || err == nil && len(config.Contexts) == 0 && !inside {
			return nil, errors.New("name what to read: files by -f or -k, or a cluster by --context or --kubeconfig; " +
				"no kubeconfig was found")
		}
		if err != nil {
			return nil, fmt.Errorf("read the kubeconfig: %w", err)
		}
	}
	return read.Live(f.server(), options)
}

// server is the API server, as kubectl finds it.
func (f *Flags) server() *genericclioptions.ConfigFlags {
	return &genericclioptions.ConfigFlags{KubeConfig: &f.Kubeconfig, Context: &f.Context}
}

// Namespace is the one that the kubeconfig's context names: default without one.
func (f *Flags) Namespace() string {
	if f.manifests() {
		return "default"
	}
	namespace, _, err := f.server().ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "default" // why is said when the cluster is read
	}
	return namespace
}

// Offered reads what can be bought for a cluster.
func (f *Flags) Offered(snapshot *model.Snapshot, now time.Time) (Offered, error) {
	return ReadOffered(f.Catalog, snapshot, offering.Settings{NodeClassCEL: f.nodeClassCEL, NowUnix: now.Unix()})
}
