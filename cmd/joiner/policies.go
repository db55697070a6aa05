package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/read"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	"github.com/joiner-sh/joiner/shared/core/offering"
)

// The values of the policies, spelled as the settings of the functions.
const (
	respect    = "Respect"
	ignore     = "Ignore"
	strict     = "Strict"
	bestEffort = "BestEffort"
)

// policyFlags are those by which a plan is made for pods, whatever the plan is about.
type policyFlags struct {
	preferences   string
	minValues     string
	defaultSpread string
	nodeClassCEL  bool
}

func (f *policyFlags) register(command *cobra.Command) {
	choice(command, &f.preferences, "preference-policy", "", respect, []string{respect, ignore},
		"preferred affinity and ScheduleAnyway spread")
	choice(command, &f.minValues, "min-values-policy", "", strict, []string{strict, bestEffort},
		"if minValues cannot be met: refuse pods, or lower it")
	command.Flags().StringVar(&f.defaultSpread, "default-spread", "",
		"defaultConstraints of kube-scheduler, a YAML or JSON `LIST` (default: none)")
	must(command.RegisterFlagCompletionFunc("default-spread", cobra.NoFileCompletions))
	command.Flags().BoolVar(&f.nodeClassCEL, "node-class-cel", false,
		"allow expressions in spec.kubelet of EC2NodeClasses")
}

// cluster reads the cluster.
func (f *policyFlags) cluster(in io.Reader, from *planFlags, now time.Time) (*read.Cluster, error) {
	spread, err := translate.ParseDefaultSpread(f.defaultSpread)
	if err != nil {
		return nil, fmt.Errorf("--default-spread: %w", err)
	}
	return read.Files(from.files, read.Options{Stdin: in, NowUnix: now.Unix(), DefaultSpread: spread, AsSeen: from.asSeen})
}

// catalogInput reads what can be bought for the cluster.
func (f *policyFlags) catalogInput(from *planFlags, cluster *read.Cluster, now time.Time) (catalogInput, error) {
	return readCatalogInput(from.catalog, cluster.Snapshot, offering.Settings{NodeClassCEL: f.nodeClassCEL, NowUnix: now.Unix()})
}
