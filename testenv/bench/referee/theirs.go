package referee

import (
	"context"
	"encoding/base64"
	"net"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/go-logr/logr"
	"github.com/patrickmn/go-cache"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	kubeclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kubefake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	corecloudprovider "sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/nodeoverlay"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/events"
	coreoptions "sigs.k8s.io/karpenter/pkg/operator/options"

	awsv1 "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	awscache "github.com/aws/karpenter-provider-aws/pkg/cache"
	"github.com/aws/karpenter-provider-aws/pkg/cloudprovider"
	"github.com/aws/karpenter-provider-aws/pkg/controllers/nodeclaim/tagging"
	"github.com/aws/karpenter-provider-aws/pkg/controllers/nodeclass"
	"github.com/aws/karpenter-provider-aws/pkg/operator/options"
	"github.com/aws/karpenter-provider-aws/pkg/providers/amifamily"
	"github.com/aws/karpenter-provider-aws/pkg/providers/arczonalshift"
	"github.com/aws/karpenter-provider-aws/pkg/providers/capacityreservation"
	"github.com/aws/karpenter-provider-aws/pkg/providers/instance"
	"github.com/aws/karpenter-provider-aws/pkg/providers/instanceprofile"
	"github.com/aws/karpenter-provider-aws/pkg/providers/instancestatus"
	"github.com/aws/karpenter-provider-aws/pkg/providers/instancetype"
	"github.com/aws/karpenter-provider-aws/pkg/providers/launchtemplate"
	"github.com/aws/karpenter-provider-aws/pkg/providers/placementgroup"
	theirpricing "github.com/aws/karpenter-provider-aws/pkg/providers/pricing"
	"github.com/aws/karpenter-provider-aws/pkg/providers/securitygroup"
	theirssm "github.com/aws/karpenter-provider-aws/pkg/providers/ssm"
	"github.com/aws/karpenter-provider-aws/pkg/providers/subnet"
	"github.com/aws/karpenter-provider-aws/pkg/providers/version"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// Karpenter is its AWS provider against a site, put together as its operator does.
type Karpenter struct {
	testing.TB
	ctx       context.Context
	kube      client.Client
	cloud     *cloudprovider.CloudProvider
	classes   *nodeclass.Controller
	tagging   *tagging.Controller
	types     *instancetype.DefaultProvider
	instances instance.Provider
	status    *instancestatus.DefaultProvider
	prices    *theirpricing.DefaultProvider
}

func init() { ctrllog.SetLogger(logr.Discard()) }

// silent publishes no events.
type silent struct{}

func (silent) Publish(...events.Event) {}

// kept is a cache that loses nothing during a test.
func kept() *cache.Cache { return cache.New(cache.NoExpiration, cache.NoExpiration) }

// Karpenter puts the provider together with the rights of its controller's role, for the cluster that a scenario's objects are in.
func (s *Site) Karpenter(scenario Scenario) *Karpenter {
	s.Helper()
	reg := world.Registration()
	ca := base64.StdEncoding.EncodeToString(reg.CA)
	ctx := options.ToContext(s.Context(), &options.Options{ClusterName: cluster, ClusterEndpoint: reg.Endpoint, ClusterCABundle: ca, EKSControlPlane: true, VMMemoryOverheadPercent: 0.075})
	ctx = coreoptions.ToContext(ctx, &coreoptions.Options{FeatureGates: coreoptions.FeatureGates{ReservedCapacity: true}})
	k := &Karpenter{TB: s.TB, ctx: ctx, kube: s.kube(scenario)}
	config := s.As(karpenter)
	ec2api, eksapi := ec2.NewFromConfig(config), eks.NewFromConfig(config)
	clock, unavailable, shift := kubeclock.NewFakeClock(s.World.Clock.Now()), awscache.NewUnavailableOfferings(), arczonalshift.NewNoopProvider()
	subnets, groups := subnet.NewDefaultProvider(ec2api, kept(), kept()), securitygroup.NewDefaultProvider(ec2api, kept())
	profiles := instanceprofile.NewDefaultProvider(iam.NewFromConfig(config), kept(), kept(), kept(), s.Region())
	k.prices = theirpricing.NewDefaultProvider(theirpricing.NewAPI(config), ec2api, s.Region(), false)
	versions := version.NewDefaultProvider(nil, eksapi)
	k.must("read the version", versions.UpdateVersion(ctx))
	images := amifamily.NewDefaultProvider(clock, versions, theirssm.NewDefaultProvider(ssm.NewFromConfig(config), kept()), ec2api, kept())
	placement := placementgroup.NewProvider(ec2api, kept(), kept())
	resolver := amifamily.NewDefaultResolver(s.Region())
	elected := make(chan struct{})
	close(elected)
	templates := launchtemplate.NewDefaultProvider(ctx, kept(), ec2api, eksapi, resolver, groups, subnets, placement, &ca, elected, net.ParseIP(reg.ClusterDNS), reg.Endpoint)
	reservations := capacityreservation.NewProvider(ec2api, clock, kept(), kept())
	k.types = instancetype.NewDefaultProvider(kept(), kept(), kept(), ec2api, subnets, k.prices, reservations, placement, unavailable, instancetype.NewDefaultResolver(s.Region()), shift, k.kube)
	k.must("read instance types", k.types.UpdateInstanceTypes(ctx))
	k.must("read their zones", k.types.UpdateInstanceTypeOfferings(ctx))
	k.must("read prices", k.prices.UpdateOnDemandPricing(ctx))
	k.must("read spot prices", k.prices.UpdateSpotPricing(ctx))
	k.instances = instance.NewDefaultProvider(ctx, s.Region(), silent{}, ec2api, unavailable, subnets, templates, reservations, placement, shift, kept())
	k.status = instancestatus.NewDefaultProvider(ec2api, clock)
	k.cloud = cloudprovider.New(k.types, k.instances, silent{}, k.kube, images, groups, reservations, placement, nodeoverlay.NewInstanceTypeStore(), &ca)
	k.classes = nodeclass.NewController(clock, k.kube, k.cloud, silent{}, s.Region(), subnets, groups, images, profiles, k.types, templates, reservations, placement, ec2api, kept(), kept(), resolver, false)
	k.tagging = tagging.NewController(k.kube, k.cloud, k.instances)
	return k
}

func (k *Karpenter) must(what string, err error) {
	k.Helper()
	if err != nil {
		k.Fatalf("Karpenter: %s: %v", what, err)
	}
}

// kube is an API server with a scenario's class and pool, as Karpenter's definitions default them.
func (s *Site) kube(scenario Scenario) client.Client {
	s.Helper()
	theirs := TheirSchemas(s)
	class, pool := &awsv1.EC2NodeClass{}, &karpv1.NodePool{}
	for object, into := range map[*map[string]any]any{&scenario.Class: class, &scenario.Pool: pool} {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(Defaulted(theirs, *object).Object, into); err != nil {
			s.Fatalf("%s: %v", scenario.Name, err)
		}
	}
	class.UID, class.Generation = "class-uid-0001", 1 // as in the world
	pool.UID, pool.Generation = "pool-uid-0002", 1
	builder := kubefake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(class, pool).WithStatusSubresource(&awsv1.EC2NodeClass{}, &karpv1.NodeClaim{})
	for field, get := range map[string]func(ref *karpv1.NodeClassReference) string{
		"group": func(ref *karpv1.NodeClassReference) string { return ref.Group },
		"kind":  func(ref *karpv1.NodeClassReference) string { return ref.Kind },
		"name":  func(ref *karpv1.NodeClassReference) string { return ref.Name },
	} {
		builder.WithIndex(&karpv1.NodePool{}, "spec.template.spec.nodeClassRef."+field, func(o client.Object) []string {
			return []string{get(o.(*karpv1.NodePool).Spec.Template.Spec.NodeClassRef)}
		}).WithIndex(&karpv1.NodeClaim{}, "spec.nodeClassRef."+field, func(o client.Object) []string {
			return []string{get(o.(*karpv1.NodeClaim).Spec.NodeClassRef)}
		})
	}
	return builder.Build()
}

func (k *Karpenter) class() *awsv1.EC2NodeClass {
	k.Helper()
	var list awsv1.EC2NodeClassList
	k.must("list classes", k.kube.List(k.ctx, &list))
	if len(list.Items) != 1 {
		k.Fatalf("%d classes", len(list.Items))
	}
	return &list.Items[0]
}

// Try has its controller of classes look the class up and try it on EC2. It fails where the class is not ready then.
func (k *Karpenter) Try() *awsv1.EC2NodeClass {
	k.Helper()
	for range 3 { // the first time conditions it depends on may be unknown
		class := k.class()
		_, err := k.classes.Reconcile(k.ctx, class)
		k.must("reconcile the class", err)
	}
	class := k.class()
	for _, c := range class.GetConditions() {
		if c.Status != "True" {
			k.Errorf("Karpenter: class: %s is %s: %s: %s", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	return class
}

// Create has it launch a machine for a scenario's pod and returns the NodeClaim.
func (k *Karpenter) Create(scenario Scenario) *karpv1.NodeClaim {
	k.Helper()
	var pools karpv1.NodePoolList
	k.must("list pools", k.kube.List(k.ctx, &pools))
	pool := &pools.Items[0]
	types, err := k.cloud.GetInstanceTypes(k.ctx, pool)
	k.must("list instance types", err)
	template := scheduling.NewNodeClaimTemplate(pool)
	for _, it := range types {
		if it.Requirements.Intersects(template.Requirements) == nil {
			template.InstanceTypeOptions = append(template.InstanceTypeOptions, it)
		}
	}
	template.Spec.Resources.Requests = scenario.Pod.Spec.Containers[0].Resources.Requests
	claim := template.ToNodeClaim()
	claim.Name = pool.Name + "-1"
	k.must("make the NodeClaim", k.kube.Create(k.ctx, claim))
	launched, err := k.cloud.Create(k.ctx, claim)
	k.must("launch", err)
	claim.Status = launched.Status
	k.must("store the NodeClaim's status", k.kube.Status().Update(k.ctx, claim))
	return claim
}

// Join tags the machine of a NodeClaim as of a node that joined, for which it sleeps a second.
func (k *Karpenter) Join(claim *karpv1.NodeClaim) {
	k.Helper()
	claim.Status.NodeName = "ip-10-0-0-1.ec2.internal"
	k.must("store the node's name", k.kube.Status().Update(k.ctx, claim))
	_, err := k.tagging.Reconcile(k.ctx, claim)
	k.must("tag", err)
}

// Finish lists what there is, ends the machine of a NodeClaim, and deletes the class.
func (k *Karpenter) Finish(claim *karpv1.NodeClaim) {
	k.Helper()
	_, err := k.cloud.List(k.ctx)
	k.must("list", err)
	_, err = k.status.List(k.ctx)
	k.must("list statuses", err)
	k.must("end", k.cloud.Delete(k.ctx, claim))
	k.must("delete the NodeClaim", k.kube.Delete(k.ctx, claim))
	class := k.class()
	k.must("delete the class", k.kube.Delete(k.ctx, class))
	_, err = k.classes.Reconcile(k.ctx, k.class())
	k.must("finish the class", err)
}

// Types are the instance types that it makes of a class.
func (k *Karpenter) Types(class *awsv1.EC2NodeClass) map[string]*corecloudprovider.InstanceType {
	k.Helper()
	list, err := k.types.List(k.ctx, class)
	k.must("list instance types", err)
	out := map[string]*corecloudprovider.InstanceType{}
	for _, it := range list {
		out[it.Name] = it
	}
	return out
}
