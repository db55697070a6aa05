package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	ec2model "github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/eks"
	iammodel "github.com/joiner-sh/joiner/testenv/local/cloud/iam"
)

// TestA10PrepareMendsWhatPreflightNames: the script runs the commands that preflight names, by the real AWS CLI; what it finds it leaves
// alone, so that a second run does nothing but write the kubeconfig.
func TestA10PrepareMendsWhatPreflightNames(t *testing.T) {
	if testing.Short() {
		t.Skip("some twenty runs of the AWS CLI")
	}
	if _, err := exec.LookPath("aws"); err != nil {
		t.Skip("there is no AWS CLI (aws) on the PATH")
	}
	a := readyAccount(t)
	network := ec2model.DefaultNetwork("other")
	network.Subnets[0].ID, network.SecurityGroups[0].ID = "subnet-0123456789abcdef0", "sg-0123456789abcdef0"
	a.instances = ec2model.New(ec2model.Options{Account: a.Account(), Network: &network, Clock: clock.System()})
	a.Register("ec2", ec2model.NewHandler(a.instances))
	a.Register("iam", iammodel.NewHandler(a.instances, a.Policies))
	a.planes.AddCluster(eks.Cluster{Name: "shop", Version: "1.36", Endpoint: a.server.URL, CertificateAuthority: a.ca, SubnetIDs: []string{network.Subnets[0].ID}, SecurityGroupIDs: []string{network.SecurityGroups[0].ID}})
	a.planes.RemoveAddon("shop", "eks-pod-identity-agent")
	if status, problems := a.preflight(t); status != 2 || len(problems) != 3 {
		t.Fatalf("exit status %d, %+v", status, problems)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	prepare := func() string {
		t.Helper()
		command := exec.CommandContext(t.Context(), "../../tools/prepare.sh")
		here := slices.DeleteFunc(os.Environ(), func(entry string) bool { return entry == "AWS_PROFILE=" || entry == "AWS_DEFAULT_PROFILE=" }) // which the CLI takes for a profile without a name
		command.Env = append(here, "CLUSTER=shop", "KUBECONFIG="+kubeconfig, "AWS_PAGER=")
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	said := prepare()
	for _, want := range []string{
		"+ aws eks create-addon --cluster-name shop --addon-name eks-pod-identity-agent", "+ aws iam create-service-linked-role --aws-service-name spot.amazonaws.com",
		"--resources subnet-0123456789abcdef0", "--resources sg-0123456789abcdef0", "+ aws eks update-kubeconfig --name shop",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q:\n%s", want, said)
		}
	}
	status, problems := a.preflight(t)
	for end := time.Now().Add(time.Minute); status != 0 && time.Now().Before(end); status, problems = a.preflight(t) { // EC2 shows new tags a moment later
		time.Sleep(100 * time.Millisecond)
	}
	if status != 0 {
		t.Errorf("after it: exit status %d, %+v", status, problems)
	}
	if text, err := os.ReadFile(kubeconfig); err != nil || !strings.Contains(string(text), a.server.URL) {
		t.Errorf("the kubeconfig is %s, %v", text, err)
	}
	if said = prepare(); strings.Count(said, "+ ") != 1 {
		t.Errorf("again it does\n%s", said)
	}
}
