package attach

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Desired is what somebody wants a registration to be.
type Desired struct {
	// Registration names the cluster, its region, its roles and settings. What EKS knows of it (ARN, account, endpoint, …) is
	// empty or as EKS says. Its Paused is not looked at.
	model.Registration
	Paused *bool // nil = as it was; a new one is not paused
	// Hub is the account of the installation, where the caller knows that Stack is in it; "" = not known. Such a stack takes over
	// a registration that a stack of another account made: clusters' own accounts registered them until clusters had external ids of their own.
	Hub string
	// TakeOver lets people, who name no stack, take a registration from the stack that made it: the next stack of the same cluster
	// may have it then.
	TakeOver bool
}

// AttachOutcome is what came of a desired registration.
type AttachOutcome struct {
	Registration model.Registration
	Plane        model.ControlPlane
	New          bool     // it was not attached before
	Changed      []string // fields of the registration that are other than before, in the order of its fields
	Warnings     []string // what will not go well and does not stop it, sentences
}

// Attach registers a cluster, or brings its registration up to date. Invalid where the desired registration is refused, naming the field;
// Conflict where another cluster is attached by that name; NotFound where EKS has none.
func (f *Flow) Attach(ctx context.Context, desired Desired) (AttachOutcome, error) {
	var out AttachOutcome
	if err := f.checkDesired(desired.Registration); err != nil {
		return out, err
	}
	before, err := f.Registry.Cluster(ctx, desired.Cluster)
	out.New = fault.Is(err, fault.NotFound)
	if spoilt := fault.CodeOf(err) == model.CodeUnreadCluster; err != nil && !out.New && !(spoilt && desired.TakeOver) {
		return out, err // whose a registration is that cannot be read, only people can say
	}
	if desired.SelfManaged {
		out.Plane = selfManagedPlane(&desired.Registration)
	} else if out.Plane, err = f.describe(ctx, desired.Registration); err != nil {
		return out, explain(err, desired.Registration)
	}
	if !out.New && before.SelfManaged != desired.SelfManaged {
		return out, otherKind(&before)
	}
	if !out.New && desired.SelfManaged &&
		(before.Account != desired.Account || before.Region != desired.Region) {
		return out, fault.New(fault.Conflict, "AnotherCluster",
			"a cluster named %s is attached already, in account %s and region %s; detach that one first "+
				"(joiner detach %s)", desired.Cluster, before.Account, before.Region, desired.Cluster)
	}
	if !out.New && !desired.SelfManaged && another(before, out.Plane.ARN) {
		return out, fault.New(fault.Conflict, "AnotherCluster",
			"a cluster named %s is attached already, and it is %s, not %s; names are unique in a ledger: detach that one first (joiner detach %s), or attach this one to another installation",
			desired.Cluster, cmp.Or(before.ARN, "in account "+before.Account+" and region "+before.Region), out.Plane.ARN, desired.Cluster)
	}
	reg, err := granted(desired, out.Plane)
	if err != nil {
		return out, err
	}
	switch {
	case desired.Stack != "" && before.Stack != "" && desired.Stack != before.Stack && !desired.fromTenant(before.Stack):
		return out, fault.New(fault.Conflict, "AnotherStack",
			"cluster %s is attached by stack %s, and only that one changes it, not %s; delete that stack, or, if it is deleted, take the cluster over with joiner attach %s --take-over and deploy this one again",
			desired.Cluster, before.Stack, desired.Stack, desired.Cluster)
	case desired.Stack == "" && !desired.TakeOver:
		reg.Stack = before.Stack
	}
	reg.Paused, reg.RegisteredUnix = pausedNow(desired.Paused, before), f.Now().Unix()
	if !out.New && before.RegisteredUnix != 0 {
		reg.RegisteredUnix = before.RegisteredUnix
	}
	if out.Warnings, err = f.warnings(ctx, reg, out.Plane); err != nil {
		return out, err
	}
	out.Registration, out.Changed = reg, changed(before, reg)
	if !out.New && len(out.Changed) == 0 {
		return out, nil
	}
	return out, f.effect(ctx, EffectRegister, func() error { return f.Registry.Register(ctx, reg) })
}

// fromTenant reports whether a stack is of another account than the hub's, which the stack of the desired registration is in.
func (w *Desired) fromTenant(stack string) bool {
	_, its := ofARN(w.Stack)
	_, other := ofARN(stack)
	return w.Hub != "" && its == w.Hub && other != w.Hub
}

// another reports whether a registration is of another cluster than the one with the ARN: by its own, or, where it has none, by the
// account and region it names.
func another(before model.Registration, arn string) bool {
	region, account := ofARN(arn)
	return before.ARN != "" && before.ARN != arn || before.Account != "" && before.Account != account || before.Region != "" && before.Region != region
}

// describe asks EKS, again while a role may only just have been made: IAM takes seconds to tell everybody.
func (f *Flow) describe(ctx context.Context, reg model.Registration) (model.ControlPlane, error) {
	began := f.Now()
	for {
		plane, err := f.Clusters.Describe(ctx, reg)
		if !fault.Is(err, fault.Denied) || f.Now().Sub(began) >= f.Settings.RightsIn {
			return plane, err
		}
		if paused := f.Pause(ctx, 2*time.Second); paused != nil {
			return plane, err
		}
	}
}

// pausedNow is what was wished, else what was before: before somebody began to detach it, where they did.
func pausedNow(standalone *bool, before model.Registration) bool {
	switch {
	case standalone != nil:
		return *standalone
	case before.WasPaused != nil:
		return *before.WasPaused
	}
	return before.Paused
}

// explain says what to do where EKS could not be asked.
func explain(err error, reg model.Registration) error {
	switch fault.KindOf(err) {
	case fault.NotFound:
		return fmt.Errorf("cluster: EKS has no cluster %s in %s; check name and region: %w", reg.Cluster, reg.Region, err)
	case fault.Denied:
		who := "your own permissions"
		if reg.Roles.Catalog != "" {
			who = "roles.catalog " + reg.Roles.Catalog
		}
		return fmt.Errorf("cluster %s cannot be described with %s; that takes eks:DescribeCluster on it, and trust in the catalog's function with this externalID: %w", reg.Cluster, who, err)
	}
	return fmt.Errorf("describe cluster %s: %w", reg.Cluster, err)
}

// invalid is the error of a desired registration that is refused.
func invalid(field, value, format string, args ...any) error {
	return fault.New(fault.Invalid, "", "%s: %q %s", field, value, fmt.Sprintf(format, args...))
}

// granted is the registration that a desired one becomes for the cluster that EKS describes.
func granted(desired Desired, plane model.ControlPlane) (model.Registration, error) {
	reg := desired.Registration
	reg.WasPaused = nil
	region, account := ofARN(plane.ARN)
	if reg.SelfManaged {
		region, account = reg.Region, reg.Account
	}
	for _, f := range []struct {
		field string
		value *string
		is    string
	}{
		{"arn", &reg.ARN, plane.ARN}, {"account", &reg.Account, account}, {"region", &reg.Region, region}, {"endpoint", &reg.Endpoint, plane.Endpoint},
		{"version", &reg.Version, plane.Version}, {"serviceCIDR", &reg.ServiceCIDR, plane.ServiceCIDR},
	} {
		if *f.value != "" && *f.value != f.is {
			return reg, invalid(f.field, *f.value, "is not what EKS says of cluster %s, which is %q; leave it out, or name the right cluster", reg.Cluster, f.is)
		}
		*f.value = f.is
	}
	if len(reg.CA) > 0 && string(reg.CA) != string(plane.CA) {
		return reg, fault.New(fault.Invalid, "", "ca: it is not the certificate authority that EKS says cluster %s has; leave it out", reg.Cluster)
	}
	reg.CA = plane.CA
	if err := usable(plane); err != nil {
		return reg, err
	}
	if err := sameAccount(&reg); err != nil {
		return reg, err
	}
	if reg.ClusterDNS == "" {
		reg.ClusterDNS = dnsOf(plane.ServiceCIDR)
	}
	if plane.AuthMode == model.AuthModeConfigMap && reg.RelayURL == "" {
		return reg, fault.New(fault.Invalid, "NoAccessEntries",
			"cluster %s has no access entries, with which functions authenticate: its authenticationMode is CONFIG_MAP; "+
				"aws eks update-cluster-config --name %s --access-config authenticationMode=API_AND_CONFIG_MAP changes that and leaves aws-auth as it is", reg.Cluster, reg.Cluster)
	}
	return reg, nil
}

// usable refuses a control plane that nothing can be asked of.
func usable(plane model.ControlPlane) error {
	switch {
	case plane.Status != "ACTIVE" && plane.Status != "UPDATING":
		return fault.New(fault.Invalid, "NotActive", "cluster %s is %s; attach it when it is ACTIVE", plane.Name, plane.Status)
	case !strings.HasPrefix(plane.Endpoint, "https://"):
		return fault.New(fault.Invalid, "NoEndpoint", "cluster %s has the endpoint %q, which is not an https URL; attach it when EKS names one", plane.Name, plane.Endpoint)
	case len(plane.CA) == 0:
		return fault.New(fault.Invalid, "NoAuthority", "EKS names no certificate authority of cluster %s; attach it when it does", plane.Name)
	}
	return nil
}

// ofARN returns region and account of an ARN, "" where it has none.
func ofARN(arn string) (region, account string) {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) < 6 {
		return "", ""
	}
	return parts[3], parts[4]
}

// dnsOf is the address that EKS gives the cluster's DNS: the tenth of the service network. Source: EKS user guide, "View Amazon
// EKS networking requirements": 10.100.0.10 of 10.100.0.0/16, and ::a of an IPv6 network.
func dnsOf(cidr string) string {
	network, err := netip.ParsePrefix(cidr)
	if err != nil {
		return ""
	}
	address := network.Masked().Addr()
	for range 10 {
		address = address.Next()
	}
	return address.String()
}

// sameAccount refuses roles that cannot be this cluster's.
func sameAccount(reg *model.Registration) error {
	for _, r := range rolesOf(reg.Roles) {
		if _, account := ofARN(r.arn); r.arn != "" && account != reg.Account {
			return invalid("roles."+r.name, r.arn, "belongs to another account than cluster %s, which is in %s; a cluster's roles are in the account of its instances", reg.Cluster, reg.Account)
		}
	}
	return nil
}

// changed names the fields of the registration that differ.
func changed(before, after model.Registration) []string {
	var out []string
	a, b := reflect.ValueOf(before), reflect.ValueOf(after)
	for i := range a.NumField() {
		if !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			name, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("json"), ",")
			out = append(out, name)
		}
	}
	return out
}

// warnings says what will not go well.
func (f *Flow) warnings(ctx context.Context, reg model.Registration, plane model.ControlPlane) ([]string, error) {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if reg.SelfManaged && reg.RelayURL == "" {
		say("functions authenticate to the API server of %s with tokens of AWS STS, which it takes only with "+
			"aws-iam-authenticator: see docs/tasks/self-managed.md, or use the relay", reg.Cluster)
	}
	if !reg.SelfManaged && !plane.PublicAccess && reg.RelayURL == "" {
		say("the API server of %s has no public endpoint and relayURL is not set: functions reach it only where they are attached to its VPC", reg.Cluster)
	}
	if plane.PublicAccess && reg.RelayURL == "" && len(plane.PublicCIDRs) > 0 && !slices.Contains(plane.PublicCIDRs, "0.0.0.0/0") {
		say("the API server of %s answers only %s: functions must come from there, or through the relay", reg.Cluster, strings.Join(plane.PublicCIDRs, ", "))
	}
	if reg.Roles == (model.Roles{}) {
		say("no roles are set: every function acts in %s with its own permissions, whichever cluster they are for", reg.Cluster)
	} else if reg.ExternalID == "" {
		say("externalID is not set: the cluster's roles cannot distinguish this installation from another that has their ARNs, and an installation by the CDK app assumes no role without one")
	}
	all, err := f.Registry.Clusters(ctx)
	switch {
	case fault.CodeOf(err) == model.CodeUnreadCluster:
		say("%v", err)
	case err != nil:
		return nil, err
	}
	for i := range all {
		for _, mine := range rolesOf(reg.Roles) {
			for _, other := range rolesOf(all[i].Roles) {
				if mine.arn != "" && mine.arn == other.arn && all[i].Cluster != reg.Cluster {
					say("roles.%s is a role of cluster %s too (%s): a function that acts for one can act for the other", mine.name, all[i].Cluster, mine.arn)
				}
			}
		}
	}
	return out, nil
}

// namedRole is one of a cluster's roles.
type namedRole struct{ name, arn string }

func rolesOf(r model.Roles) []namedRole {
	return []namedRole{{"provision", r.Provision}, {"interruption", r.Interruption}, {"catalog", r.Catalog}, {"disrupt", r.Disrupt}, {"adopt", r.Adopt}}
}

// checkDesired refuses what can be known to be wrong without asking anybody.
func (f *Flow) checkDesired(reg model.Registration) error {
	if !clusterName(reg.Cluster) {
		return invalid("cluster", reg.Cluster, "is not the name of an EKS cluster: up to 100 letters, digits, - and _, the first a letter or digit")
	}
	if reg.Region == "" {
		return invalid("region", "", "is empty; name the cluster's region")
	}
	for _, r := range rolesOf(reg.Roles) {
		if r.arn != "" && !roleARN(r.arn) {
			return invalid("roles."+r.name, r.arn, "is not the ARN of an IAM role (arn:aws:iam::123456789012:role/name)")
		}
	}
	if err := checkApart(reg.Roles); err != nil {
		return err
	}
	if id := reg.ExternalID; id != "" && !externalID(id) {
		return invalid("externalID", id, "is not an external id: 2 to 1224 letters, digits and any of _+=,.@:/-")
	}
	if err := checkRelay(reg); err != nil {
		return err
	}
	if err := checkSelfManaged(&reg); err != nil {
		return err
	}
	if address := reg.ClusterDNS; address != "" {
		if _, err := netip.ParseAddr(address); err != nil {
			return invalid("clusterDNS", address, "is not an IP address")
		}
	}
	if err := checkBatch(reg); err != nil {
		return err
	}
	if f.Spread != nil && reg.DefaultSpread != "" {
		if err := f.Spread(reg.DefaultSpread); err != nil {
			return fmt.Errorf("defaultSpread: %w", err)
		}
	}
	return nil
}

// checkApart refuses one role for who launches and who ends instances.
func checkApart(r model.Roles) error {
	if r.Provision != "" && r.Provision == r.Interruption {
		return invalid("roles.interruption", r.Interruption, "is roles.provision too; the role that launches instances must not be able to terminate them: give each function a role of its own")
	}
	return nil
}

func checkRelay(reg model.Registration) error {
	if reg.RelayURL == "" {
		return nil
	}
	rest, ok := strings.CutPrefix(reg.RelayURL, "https://")
	if !ok { // a model of AWS on this machine has no certificate
		rest, ok = strings.CutPrefix(reg.RelayURL, "http://127.0.0.1")
	}
	if path := strings.Split(strings.Trim(rest, "/"), "/"); !ok || len(path) != 3 {
		return invalid("relayURL", reg.RelayURL, "is not the URL of an SQS queue (https://sqs.REGION.amazonaws.com/ACCOUNT/NAME)")
	}
	if strings.HasSuffix(reg.RelayURL, ".fifo") {
		return invalid("relayURL", reg.RelayURL, "is a FIFO queue; the relay needs a standard queue, or one slow request would delay all others")
	}
	return nil
}

// checkBatch refuses what the watcher alone goes by.
func checkBatch(reg model.Registration) error {
	if reg.BatchIdleMillis != 0 {
		return invalid("batchIdleMillis", fmt.Sprint(reg.BatchIdleMillis), "is a setting of the watcher: leave it out and set JOINER_BATCH_QUIET for that")
	}
	if reg.BatchMaxMillis != 0 {
		return invalid("batchMaxMillis", fmt.Sprint(reg.BatchMaxMillis), "is a setting of the watcher: leave it out and set JOINER_BATCH_MAX for that")
	}
	return nil
}

// clusterName reports whether EKS would take the name. Source: EKS API reference, CreateCluster.
func clusterName(name string) bool {
	return 0 < len(name) && len(name) <= 100 && alphanumeric(name[0]) && only(name, "-_")
}

// externalID reports whether STS would take the id. Source: STS API reference, AssumeRole.
func externalID(id string) bool { return 2 <= len(id) && len(id) <= 1224 && only(id, "_+=,.@:/-") }

func roleARN(arn string) bool {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) != 6 || parts[0] != "arn" || !strings.HasPrefix(parts[1], "aws") || parts[2] != "iam" || parts[3] != "" || len(parts[4]) != 12 {
		return false
	}
	name, ok := strings.CutPrefix(parts[5], "role/")
	return ok && only(parts[4], "") && only(name, "_+=,.@-/") && name != "" && !strings.HasSuffix(name, "/")
}

// only reports whether a text has letters and digits of ASCII and the others alone.
func only(text, others string) bool {
	return !slices.ContainsFunc([]byte(text), func(c byte) bool { return !alphanumeric(c) && strings.IndexByte(others, c) < 0 })
}

func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// errNoConnector is a hand-over from where it cannot be done.
var errNoConnector = errors.New("a hand-over needs access to the API server, which this function does not have; run joiner detach --hand-over")
