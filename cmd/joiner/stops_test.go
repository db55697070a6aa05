package main

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/shared/model"
	dynamodel "github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
)

// ledgerOf starts a table with clusters, and has the command line find it as it finds everything of AWS's.
func ledgerOf(t *testing.T, clusters ...model.Registration) *dynamoledger.Ledger {
	t.Helper()
	server := httptest.NewServer(dynamodel.NewHandler(dynamodel.NewModel(dynamodel.Options{})))
	t.Cleanup(server.Close)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": server.URL, "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-west-2",
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED": "true", "JOINER_TABLE": "joiner",
	} {
		t.Setenv(name, value)
	}
	ledger := dynamoledger.New(dynamodb.NewFromConfig(aws.Config{
		Region: "us-west-2", BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	}), "joiner")
	if err := ledger.EnsureTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, reg := range clusters {
		if err := ledger.Register(t.Context(), reg); err != nil {
			t.Fatal(err)
		}
	}
	return ledger
}

var threeClusters = []model.Registration{
	{Cluster: "shop", Account: "111111111111", Region: "us-west-2"}, {Cluster: "web", Account: "111111111111", Region: "us-west-2"},
	{Cluster: "far", Account: "222222222222", Region: "eu-central-1"},
}

func stopsOf(t *testing.T, args ...string) []string {
	t.Helper()
	code, out, errs := joiner("", append([]string{"stops", "-o", "json"}, args...)...)
	var written struct {
		Stops []struct{ Scope, Account, Region, Cluster, NodePool, Why, By, Since string }
	}
	if err := json.Unmarshal([]byte(out), &written); code != 0 || err != nil || written.Stops == nil {
		t.Fatalf("exit status %d, %v, %s, %s", code, err, out, errs)
	}
	var list []string
	for _, s := range written.Stops {
		if s.Since == "" || s.By == "" {
			t.Errorf("%+v", s)
		}
		list = append(list, strings.Join(strings.Fields(strings.Join([]string{s.Scope, s.Account, s.Region, s.Cluster, s.NodePool, s.Why}, " ")), " "))
	}
	return list
}

// D9: the switch, for a pool, a cluster, and everything in a region; each is seen in the ledger of the clusters it is for and of no
// other, and is taken back by the same flags.
func TestD9StopAndResume(t *testing.T) {
	ledger := ledgerOf(t, threeClusters...)
	for _, c := range []struct {
		flags, listed, what string
		holds               []string // clusters it holds for
	}{
		{"--cluster shop --pool gpu", "pool shop gpu training", "nodepool gpu of cluster shop", []string{"shop"}},
		{"--cluster web", "cluster web training", "cluster web", []string{"web"}},
		{"--all-clusters --region us-west-2", "region 111111111111 us-west-2 training",
			"account 111111111111 in region us-west-2", []string{"shop", "web"}},
		{"--all-clusters --region eu-central-1 --account 222222222222", "region 222222222222 eu-central-1 training",
			"account 222222222222 in region eu-central-1", []string{"far"}},
	} {
		t.Run(c.flags, func(t *testing.T) {
			flags := strings.Fields(c.flags)
			code, out, errs := joiner("", append([]string{"stop", "disruption", "--why", "training", "--by", "ann"}, flags...)...)
			if code != 0 || !strings.Contains(out, "stopped: "+c.what) || !strings.Contains(out, "joiner resume disruption "+c.flags) {
				t.Fatalf("exit status %d, %q, %q", code, out, errs)
			}
			if wants := strings.Contains(c.flags, "--pool"); strings.Contains(errs, "if the name is wrong, this stops nothing") != wants {
				t.Errorf("on standard error %q", errs)
			}
			if got := stopsOf(t); len(got) != 1 || got[0] != c.listed {
				t.Errorf("listed %q, want %q", got, c.listed)
			}
			for _, reg := range threeClusters {
				seen, err := ledger.Stops(t.Context(), reg)
				want := 0
				for _, cluster := range c.holds {
					if cluster == reg.Cluster {
						want = 1
					}
				}
				if err != nil || len(seen) != want || want == 1 && (seen[0].Why != "training" || seen[0].By != "ann" || seen[0].SinceUnix == 0) {
					t.Errorf("cluster %s sees %+v, %v", reg.Cluster, seen, err)
				}
			}
			code, table, _ := joiner("", "stops")
			if code != 0 || !strings.Contains(table, "training") || !strings.HasPrefix(table, "STOPPED") {
				t.Errorf("exit status %d: %s", code, table)
			}
			for _, want := range []string{"Disruption is resumed: ", "There was no stop of "} {
				code, out, errs = joiner("", append([]string{"resume", "disruption"}, flags...)...)
				if code != 0 || errs != "" || !strings.HasPrefix(out, want+c.what) {
					t.Errorf("exit status %d, %q, %q, want %q", code, out, errs, want)
				}
			}
			if code, out, _ := joiner("", "stops"); code != 0 || out != "There are no stops.\n" {
				t.Errorf("exit status %d, %q", code, out)
			}
		})
	}
}

func TestD9ResumeTellsOfStopsThatHoldStill(t *testing.T) {
	ledgerOf(t, threeClusters...)
	joiner("", "stop", "disruption", "--all-clusters", "--region", "us-west-2", "--why", "bad AMI", "--by", "ann")
	joiner("", "stop", "disruption", "--cluster", "shop", "--why", "moves", "--by", "bob")
	if got := stopsOf(t, "--cluster", "shop"); len(got) != 2 {
		t.Errorf("%q", got)
	}
	if got := stopsOf(t, "--cluster", "far"); len(got) != 0 {
		t.Errorf("%q", got)
	}
	_, out, _ := joiner("", "resume", "disruption", "--cluster", "shop")
	if !strings.Contains(out, "Still stopped: account 111111111111 in region us-west-2, since ") || !strings.Contains(out, ", by ann: bad AMI.") {
		t.Errorf("%q", out)
	}
}

func TestD9AKnownPoolIsNoCauseForAWarning(t *testing.T) {
	ledger := ledgerOf(t, threeClusters...)
	fence, err := ledger.AcquireLease(t.Context(), "shop", model.LeaseCollector, "o", 1, 100)
	if err != nil {
		t.Fatal(err)
	}
	if err := ledger.Adopt(t.Context(), fence, model.Claim{Name: "a", Pool: "gpu", State: model.Initialized, InstanceID: "i-1", Version: 1}); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := joiner("", "stop", "disruption", "--cluster", "shop", "--pool", "gpu", "--why", "w"); code != 0 || errs != "" {
		t.Errorf("exit status %d, %q, %q", code, out, errs)
	}
}

func TestStopRefusesACommandLineThatSaysTooLittleOrTooMuch(t *testing.T) {
	ledgerOf(t, append(threeClusters, model.Registration{Cluster: "other", Account: "333333333333", Region: "us-west-2"})...)
	for _, c := range []struct{ args, want string }{
		{"stop disruption --cluster shop", "give the reason (--why TEXT); see joiner stop disruption --help"},
		{"stop disruption --cluster shop --why=", "--why: give the reason"},
		{"stop disruption --why w", "give the scope (--cluster CLUSTER or --all-clusters)"},
		{"stop disruption --why w --cluster shop --all-clusters", "--all-clusters: it excludes --cluster"},
		{"stop disruption --why w --all-clusters --region us-west-2 --pool gpu",
			"--pool: a NodePool belongs to a cluster"},
		{"stop disruption --why w --cluster shop --account 1", "--account: it goes with --all-clusters"},
		{"stop disruption --why w --cluster shoop", `cluster "shoop" is not attached; table joiner has far, other, shop, web`},
		{"stop disruption --why w --all-clusters --region us-east-1",
			"--all-clusters: table joiner has no cluster in us-east-1, but in eu-central-1, us-west-2"},
		{"stop disruption --why w --all-clusters --region us-west-2",
			"--account: clusters in us-west-2 belong to accounts 111111111111, 333333333333"},
		{"stop disruption --why w --cluster shop --table=", "read the installation in us-west-2: read parameter /joiner/installation"},
		{"resume disruption", "give the scope (--cluster CLUSTER or --all-clusters)"},
		{"resume disruption --cluster shoop", "is not attached"},
		{"stops --cluster shoop", "is not attached"},
		{"stops --table none", "none"},
		{"stop", ""}, {"resume", ""}, // help
		{"stop provisioning", `unknown command "provisioning" for "joiner stop"`},
	} {
		code, out, errs := joiner("", strings.Fields(c.args)...)
		if c.want == "" {
			if code != 0 || !strings.Contains(out, "disruption") {
				t.Errorf("%s: exit status %d, %q", c.args, code, out)
			}
			continue
		}
		if code != 2 || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit status %d, %q, %q, want %q", c.args, code, out, errs, c.want)
		}
	}
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	if code, _, errs := joiner("", "stops"); code != 2 || !strings.Contains(errs, "no AWS region is set, by --region, AWS_REGION") {
		t.Errorf("exit status %d, %q", code, errs)
	}
}

func TestStopHelpFitsAScreenAndStandsOnItsOwn(t *testing.T) {
	for _, args := range []string{"stop --help", "stop disruption --help", "resume disruption --help", "stops --help"} {
		_, out, _ := joiner("", strings.Fields(args)...)
		for _, line := range strings.Split(out, "\n") {
			if len(line) > 120 {
				t.Errorf("%s: %d columns: %s", args, len(line), line)
			}
		}
		if args != "stop --help" && (!strings.Contains(out, "Exit status") || !strings.Contains(out, "Examples:")) {
			t.Errorf("%s: no example or no exit status", args)
		}
	}
}
