package main

import (
	"fmt"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/doctor"
	"github.com/joiner-sh/joiner/shared/model"
)

const doctorLong = `Looks at the installation and its clusters and says what is not as it should be, and what to do about it: the region's
stack, ledger, bucket, queues, the rules of EventBridge, stops, clocks, the account's quotas of vCPUs and of Lambda's concurrency, the
role for spot, the policy of a KMS key; of each cluster its control plane and endpoint, access entries, what its roles may do (simulated),
pod identity, definitions, what a Karpenter left, watcher, what its EC2NodeClasses lack, and whether the functions were lately there.

It looks with your own rights, in AWS and in the cluster, and writes nothing. What you may not look at is said and stops
nothing else.

Exit status: 0 where all is in order; 1 where something is to be looked at; 2 where something does not work, or the ledger
cannot be found.`

// doctorFlags are what the command line says.
type doctorFlags struct {
	place
	reach  adoptFlags // how the API server is reached
	output string
}

func newDoctor() *cobra.Command {
	f := &doctorFlags{}
	command := &cobra.Command{
		Use: "doctor [CLUSTER]", Short: "Say what is not as it should be, and what to do about it", Long: doctorLong, Args: cobra.MaximumNArgs(1),
		Example: `  joiner doctor            # the installation and every cluster
  joiner doctor shop -o json
  joiner doctor shop --kubeconfig ~/.kube/config`,
		RunE: func(command *cobra.Command, args []string) error { return f.run(command, args) },
	}
	command.ValidArgsFunction = cobra.NoFileCompletions
	f.register(command)
	f.reach.registerReach(command)
	choice(command, &f.output, "output", "o", outputTable, []string{outputTable, outputJSON}, "how to write what was found")
	return command
}

// verdict is an exit status that says it all.
type verdict struct{ status int }

func (v verdict) Error() string { return fmt.Sprintf("exit status %d", v.status) }

func (f *doctorFlags) run(command *cobra.Command, args []string) error {
	if err := f.reach.check(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	at, err := f.open(ctx)
	if err != nil {
		return err
	}
	all, err := at.clusters(ctx, command.ErrOrStderr())
	if err != nil {
		return err
	}
	if len(args) > 0 {
		reg, err := at.attached(all, args[0])
		if err != nil {
			return err
		}
		all = []model.Registration{reg}
	}
	f.reach.own = true
	p := &target{at: at, reach: &f.reach}
	checks := p.checks()
	for i := range all {
		checks = append(checks, p.checksOf(all[i])...)
	}
	findings := doctor.Run(ctx, checks, doctor.Settings{})
	return printFindings(command, findings, f.output)
}
