package main

import (
	"fmt"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/doctor"
	"github.com/joiner-sh/joiner/shared/model"
)

const doctorLong = `Checks the installation and its clusters, and says what is wrong and how to fix it. For the region: stack, ledger,
bucket, queues, EventBridge rules, stops, clocks, the account's quotas of vCPUs and of Lambda's concurrency, the role
for spot, and the policy of a KMS key. For each cluster: control plane and endpoint, access entries, the permissions
of its roles (simulated), Pod Identity, CustomResourceDefinitions, remains of Karpenter, watcher, conditions of its
EC2NodeClasses, and recent runs of the functions.

It uses your own permissions, in AWS and in the cluster, and writes nothing. What you may not read is reported, and
the other checks go on.

Exit status: 0 if all checks pass; 1 if something needs attention; 2 if something does not work, or the ledger cannot
be found.`

// doctorFlags are what the command line says.
type doctorFlags struct {
	place
	reach  adoptFlags // how the API server is reached
	output string
}

func newDoctor() *cobra.Command {
	f := &doctorFlags{}
	command := &cobra.Command{
		Use: "doctor [CLUSTER]", Short: "Check an installation and its clusters, and show how to fix what is wrong", Long: doctorLong, Args: cobra.MaximumNArgs(1),
		Example: `  joiner doctor            # the installation and every cluster
  joiner doctor shop -o json
  joiner doctor shop --kubeconfig ~/.kube/config`,
		RunE: func(command *cobra.Command, args []string) error { return f.run(command, args) },
	}
	command.ValidArgsFunction = cobra.NoFileCompletions
	f.register(command)
	f.reach.registerReach(command)
	choice(command, &f.output, "output", "o", outputTable, []string{outputTable, outputJSON}, "output format")
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
