package ec2

import (
	"cmp"
	"context"
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// permit asks the guard of ctx, where there is one, for everything a request does. The lock is not held.
func (m *Model) permit(ctx context.Context, action string, in any) error {
	guard := wire.GuardOf(ctx)
	if guard == nil {
		return nil
	}
	m.lock()
	asked := m.asks(action, in)
	m.unlock()
	if err := ask(ctx, guard, asked); err != nil {
		return err
	}
	return nil
}

// ask returns the first refusal among what is asked for, having asked for all of it.
func ask(ctx context.Context, guard wire.Guard, asked []wire.Access) (refused *wire.Error) {
	for _, a := range asked {
		because := guard(a)
		if because == "" || refused != nil {
			continue
		}
		sentence := wire.NotAuthorized(ctx, a, because)
		refused = wire.StatusErrorf(http.StatusForbidden, "UnauthorizedOperation",
			"You are not authorized to perform this operation. %s. Encoded authorization failure message: %s", sentence,
			base64.RawURLEncoding.EncodeToString([]byte(digest(sentence))))
	}
	return refused
}

// asks returns what a request asks of IAM. Describing knows no resources. The lock is held.
func (m *Model) asks(action string, in any) []wire.Access {
	a := m.asking(action)
	switch r := in.(type) {
	case *createLaunchTemplateInput:
		a.on("launch-template/*", tagsFor("launch-template", r.TagSpecifications...), nil)
		a.tags("launch-template/*", tagsFor("launch-template", r.TagSpecifications...))
	case *createLaunchTemplateVersionInput:
		m.onTemplate(a, r.LaunchTemplateID, r.LaunchTemplateName)
	case *deleteLaunchTemplateInput:
		m.onTemplate(a, r.LaunchTemplateID, r.LaunchTemplateName)
	case *terminateInstancesInput:
		for _, id := range r.InstanceIDs {
			a.on("instance/"+id, nil, m.instanceKeys(id))
		}
	case *tagsInput:
		added := map[string]string{}
		for _, t := range r.Tags {
			added[t.Key] = value(t.Value)
		}
		for _, id := range r.ResourceIDs {
			a.on(resourceKind(id)+"/"+id, added, m.resourceTags(id))
		}
	case *createFleetInput:
		m.asksFleet(a, r)
	case *runInstancesInput:
		if spec, err := m.runSpec(r); err == nil { // what cannot be resolved is refused for that
			m.asksRun(a, &spec, r.TagSpecifications)
		}
	default:
		return m.asksOther(action, a, in)
	}
	return a.out
}

// asksOther returns what describing asks for, and what people do to a cluster's surroundings.
func (m *Model) asksOther(action string, a *asking, in any) []wire.Access {
	switch r := in.(type) {
	case *createCapacityReservationInput:
		a.on("capacity-reservation/*", tagsFor("capacity-reservation", r.TagSpecifications...), nil)
		a.tags("capacity-reservation/*", tagsFor("capacity-reservation", r.TagSpecifications...))
	case *copyImageInput:
		a.on("image/*", tagsFor("image", r.TagSpecifications...), nil)
		a.tags("image/*", tagsFor("image", r.TagSpecifications...))
	case *createAllocationInput:
		a.on("capacity-reservation/"+r.ReservationID, tagsFor("capacity-reservation", r.TagSpecifications...), m.resourceTags(r.ReservationID))
		a.tags("capacity-reservation/*", tagsFor("capacity-reservation", r.TagSpecifications...))
	case *updateAllocationInput:
		a.on("capacity-reservation/"+r.ReservationID, nil, m.resourceTags(r.ReservationID))
	case *createSecurityGroupInput:
		a.on("security-group/*", tagsFor("security-group", r.TagSpecifications...), nil)
		a.tags("security-group/*", tagsFor("security-group", r.TagSpecifications...))
		a.on("vpc/"+r.VPCID, nil, m.resourceTags(r.VPCID))
	case *deleteSecurityGroupInput:
		a.on("security-group/"+r.GroupID, nil, m.resourceTags(r.GroupID))
	case *modifySubnetAttributeInput:
		a.on("subnet/"+r.SubnetID, nil, m.resourceTags(r.SubnetID))
	case *stopInstancesInput:
		for _, id := range r.InstanceIDs {
			a.on("instance/"+id, nil, m.instanceKeys(id))
		}
	case *enableImageDeprecationInput:
		a.on("image/"+r.ImageID, nil, m.resourceTags(r.ImageID))
	case *createVolumeInput:
		m.asksVolume(a, r)
	case *deleteVolumeInput:
		a.on("volume/"+r.VolumeID, nil, m.resourceTags(r.VolumeID))
	case *attachVolumeInput:
		a.on("volume/"+r.VolumeID, nil, m.resourceTags(r.VolumeID))
		a.on("instance/"+r.InstanceID, nil, m.instanceKeys(r.InstanceID))
	case *detachVolumeInput:
		a.on("volume/"+r.VolumeID, nil, m.resourceTags(r.VolumeID))
		a.on("instance/"+r.InstanceID, nil, m.instanceKeys(r.InstanceID))
	case *createPlacementGroupInput:
		a.on("placement-group/*", tagsFor("placement-group", r.TagSpecifications...), nil)
		a.tags("placement-group/*", tagsFor("placement-group", r.TagSpecifications...))
	default:
		resource := "*"
		if !strings.HasPrefix(action, "Describe") {
			resource = m.arn("*")
		}
		a.out = append(a.out, wire.Access{Action: "ec2:" + action, Resource: resource})
	}
	return a.out
}

// asksVolume asks for making a volume, and for the tags it is made with.
func (m *Model) asksVolume(a *asking, in *createVolumeInput) {
	keys := map[string][]string{"ec2:encrypted": {strconv.FormatBool(value(in.Encrypted))}, "ec2:volumetype": {cmp.Or(in.VolumeType, "gp2")}}
	if in.AvailabilityZone != "" {
		keys["ec2:availabilityzone"] = []string{in.AvailabilityZone}
	}
	if in.Size != nil {
		keys["ec2:volumesize"] = []string{strconv.Itoa(*in.Size)}
	}
	if in.KMSKeyID != "" {
		keys["ec2:kmskeyid"] = []string{in.KMSKeyID}
	}
	tags := tagsFor("volume", in.TagSpecifications...)
	a.on("volume/*", tags, keys)
	a.tags("volume/*", tags)
}

// asking collects what one request asks for.
type asking struct {
	model  *Model
	action string // without service
	out    []wire.Access
}

func (m *Model) asking(action string) *asking { return &asking{model: m, action: action} }

// on asks for the action on a resource, named without the account, that gets tags and has keys of its own.
func (a *asking) on(resource string, tags map[string]string, keys map[string][]string) {
	context := maps.Clone(keys)
	if context == nil {
		context = map[string][]string{}
	}
	if len(tags) > 0 {
		context["aws:tagkeys"] = sortedKeys(tags)
	}
	for key, value := range tags {
		context["aws:requesttag/"+strings.ToLower(key)] = []string{value}
	}
	arn := a.model.arn(resource)
	if strings.HasPrefix(resource, "image/") {
		arn = strings.Replace(arn, ":"+a.model.account+":", "::", 1) // images are named without an account
	}
	a.out = append(a.out, wire.Access{Action: "ec2:" + a.action, Resource: arn, Context: context})
}

// tags asks for CreateTags on a resource that is tagged as the action makes it. Nothing is asked for where it gets no tags.
func (a *asking) tags(resource string, tags map[string]string) {
	if len(tags) == 0 {
		return
	}
	creates := &asking{model: a.model, action: "CreateTags"}
	creates.on(resource, tags, map[string][]string{"ec2:createaction": {a.action}})
	a.out = append(a.out, creates.out...)
}

// resourceTags returns the tags of a resource as condition keys.
func (m *Model) resourceTags(id string) map[string][]string {
	out := map[string][]string{}
	for key, value := range m.tags.all(id) {
		out["aws:resourcetag/"+strings.ToLower(key)] = []string{value}
		out["ec2:resourcetag/"+strings.ToLower(key)] = []string{value}
	}
	return out
}

func (m *Model) instanceKeys(id string) map[string][]string {
	out := m.resourceTags(id)
	if i, ok := m.instances[id]; ok {
		out["ec2:instanceid"], out["ec2:instancetype"] = []string{id}, []string{i.facts.Type}
		out["ec2:availabilityzone"], out["ec2:tenancy"] = []string{i.facts.Zone}, []string{"default"}
		if i.facts.ProfileARN != "" {
			out["ec2:instanceprofile"] = []string{i.facts.ProfileARN}
		}
	}
	return out
}

func (m *Model) onTemplate(a *asking, id, name string) {
	if t, err := m.template(id, name); err == nil {
		id = t.id
	}
	if id == "" {
		id = "*" // of that name there is none
	}
	a.on("launch-template/"+id, nil, m.resourceTags(id))
}

// asksFleet asks for CreateFleet on the fleet and, where EC2 is read so, on all that the service authorization reference names: of what
// is launched the instance, its volumes, image, template, subnet and placement group. What launching itself asks for is asked override
// by override. Overrides that do not resolve ask for nothing: they are refused one by one.
func (m *Model) asksFleet(a *asking, in *createFleetInput) {
	fleetTags := tagsFor("fleet", in.TagSpecifications...)
	a.on("fleet/*", fleetTags, nil)
	a.tags("fleet/*", fleetTags)
	if m.reads.Takes(reading.CreateFleetResources) || checkFleet(in) != nil {
		return
	}
	capacityType := OnDemand
	if spot, _ := in.TargetCapacitySpecification.split(); spot > 0 {
		capacityType = Spot
	}
	pools, err := m.fleetPools(in, "", capacityType, freely)
	if err != nil {
		return
	}
	var seen []string
	for _, p := range pools {
		if p.refusal != nil {
			continue
		}
		run := m.asking("CreateFleet")
		m.asksRun(run, &p.spec, in.TagSpecifications)
		for _, access := range run.out {
			kind := strings.Split(access.Resource[strings.LastIndex(access.Resource, ":")+1:], "/")[0]
			if access.Action == "ec2:CreateFleet" && !slices.Contains([]string{"instance", "volume", "image", "launch-template", "subnet", "placement-group"}, kind) {
				continue
			}
			if key := describeAccess(access); access.Action != "iam:PassRole" && !slices.Contains(seen, key) {
				seen = append(seen, key)
				a.out = append(a.out, access)
			}
		}
	}
}

// describeAccess returns a text that is the same for the same access.
func describeAccess(a wire.Access) string {
	out := a.Action + " " + a.Resource
	for _, key := range sortedKeys(a.Context) {
		out += " " + key + "=" + strings.Join(a.Context[key], ",")
	}
	return out
}

// permitLaunch asks for what launching from one override of a fleet needs: RunInstances on all it is made of.
func (m *Model) permitLaunch(ctx context.Context, spec *launchSpec, tags []TagSpecification) *wire.Error {
	guard := wire.GuardOf(ctx)
	if guard == nil {
		return nil
	}
	a := m.asking("RunInstances")
	m.asksRun(a, spec, tags)
	return ask(ctx, guard, a.out)
}

// asksRun asks for the action on everything one kind of instance is launched from and made of, for the tags it is made with, and
// for passing its role to EC2.
func (m *Model) asksRun(a *asking, spec *launchSpec, specs []TagSpecification) {
	all := map[string][]string{"ec2:islaunchtemplateresource": {"false"}}
	keys := m.madeKeys(a.action, spec)
	if spec.version != nil {
		template := "launch-template/" + spec.version.template.id
		all = map[string][]string{"ec2:islaunchtemplateresource": {"true"}, "ec2:launchtemplate": {m.arn(template)}}
		a.on(template, nil, merged(all, m.resourceTags(spec.version.template.id)))
	}
	if a.action == "CreateFleet" {
		all = nil
	}
	zone := map[string][]string{"ec2:availabilityzone": {spec.subnet.Zone}}
	vpc := map[string][]string{"ec2:vpc": {m.arn("vpc/" + spec.subnet.VPCID)}}
	made := append(slices.Clone(spec.data.TagSpecifications), specs...)
	a.on("instance/*", spec.instanceTags, merged(all, zone, keys.instance))
	a.on("volume/*", spec.volumeTags, merged(all, zone, keys.volume))
	a.on("network-interface/*", tagsFor("network-interface", made...), merged(all, zone, vpc, map[string][]string{"ec2:subnet": {m.arn("subnet/" + spec.subnet.ID)}}))
	a.on("image/"+spec.image.ID, nil, merged(all, keys.image))
	a.on("subnet/"+spec.subnet.ID, nil, merged(all, zone, vpc, m.resourceTags(spec.subnet.ID), map[string][]string{"ec2:subnetid": {spec.subnet.ID}}))
	for _, g := range spec.groups {
		a.on("security-group/"+g.ID, nil, merged(all, vpc, m.resourceTags(g.ID), map[string][]string{"ec2:securitygroupid": {g.ID}}))
	}
	if spec.pool.CapacityType == Spot {
		a.on("spot-instances-request/*", spec.requestTags, all)
		a.tags("spot-instances-request/*", spec.requestTags)
	}
	for _, r := range spec.reservations {
		a.on("capacity-reservation/"+r.ID, nil, merged(all, m.resourceTags(r.ID)))
	}
	if spec.placement != nil {
		a.on("placement-group/"+spec.placement.Name, nil, merged(all, m.resourceTags(spec.placement.ID)))
	}
	if spec.data.KeyName != "" {
		a.on("key-pair/"+spec.data.KeyName, nil, all)
	}
	if a.action != "CreateFleet" || !m.reads.Takes(reading.FleetCreateTags) {
		a.tags("instance/*", spec.instanceTags)
		a.tags("volume/*", spec.volumeTags)
		a.tags("network-interface/*", tagsFor("network-interface", made...))
	}
	if spec.profile != nil && spec.profile.Role != "" {
		role := "arn:aws:iam::" + m.account + ":role" + m.rolePath(spec.profile.Role) + spec.profile.Role
		a.out = append(a.out, wire.Access{Action: "iam:PassRole", Resource: role, Context: map[string][]string{"iam:passedtoservice": {"ec2.amazonaws.com"}}})
	}
}

func (m *Model) rolePath(name string) string {
	if r, ok := m.roles[name]; ok {
		return r.Path
	}
	return "/"
}

// madeKeys are condition keys of what a launch makes and of the image it is made from.
type madeKeys struct{ instance, volume, image map[string][]string }

// madeKeys returns the keys an action has. Those of CreateFleet may lack whatever the launch template alone says.
func (m *Model) madeKeys(action string, spec *launchSpec) madeKeys {
	out := madeKeys{
		instance: m.newInstanceKeys(action, spec), volume: volumeKeys(spec),
		image: merged(m.resourceTags(spec.image.ID), imageKeys(spec, m.account)),
	}
	if action != "CreateFleet" || m.reads.Takes(reading.CreateFleetTemplateKeys) {
		return out
	}
	out.instance = map[string][]string{}
	if typ := spec.overridden.InstanceType; typ != "" {
		out.instance["ec2:instancetype"] = []string{typ}
	}
	if len(spec.overridden.BlockDeviceMappings) == 0 {
		out.volume = nil
	}
	if spec.overridden.ImageID == "" {
		out.image = nil
	}
	return out
}

// newInstanceKeys are the keys of an instance that is to be. CreateFleet knows nothing of its metadata options and market.
func (m *Model) newInstanceKeys(action string, spec *launchSpec) map[string][]string {
	out := map[string][]string{
		"ec2:instancetype": {spec.typ.Name}, "ec2:tenancy": {spec.tenancy()}, "ec2:rootdevicetype": {"ebs"},
		"ec2:ebsoptimized": {strconv.FormatBool(value(spec.data.EbsOptimized))},
	}
	if spec.profile != nil {
		out["ec2:instanceprofile"] = []string{spec.profile.ARN}
	}
	if action != "RunInstances" {
		return out
	}
	if spec.market != OnDemand {
		out["ec2:instancemarkettype"] = []string{spec.market}
	}
	options := spec.metadata
	if options == nil {
		return out
	}
	tokens := options.HTTPTokens
	if tokens == "" {
		tokens = "optional"
		if spec.image.RequiresIMDSv2 {
			tokens = "required"
		}
	}
	out["ec2:metadatahttptokens"] = []string{tokens}
	if options.HTTPEndpoint != "" {
		out["ec2:metadatahttpendpoint"] = []string{options.HTTPEndpoint}
	}
	if options.HTTPPutResponseHops != nil {
		out["ec2:metadatahttpputresponsehoplimit"] = []string{strconv.Itoa(*options.HTTPPutResponseHops)}
	}
	if options.InstanceMetadataTags != "" {
		out["ec2:instancemetadatatags"] = []string{options.InstanceMetadataTags}
	}
	return out
}

// volumeKeys are the keys of an instance's volumes, of which the first that is mapped speaks for all.
func volumeKeys(spec *launchSpec) map[string][]string {
	out := map[string][]string{}
	for _, d := range spec.data.BlockDeviceMappings {
		if d.EBS == nil {
			continue
		}
		out["ec2:encrypted"] = []string{strconv.FormatBool(value(d.EBS.Encrypted))}
		if d.EBS.VolumeSize != nil {
			out["ec2:volumesize"] = []string{strconv.Itoa(*d.EBS.VolumeSize)}
		}
		if d.EBS.VolumeType != "" {
			out["ec2:volumetype"] = []string{d.EBS.VolumeType}
		}
		if d.EBS.KMSKeyID != "" {
			out["ec2:kmskeyid"] = []string{d.EBS.KMSKeyID}
		}
		break
	}
	return out
}

func imageKeys(spec *launchSpec, account string) map[string][]string {
	owner := spec.image.OwnerAlias
	if owner == "" {
		owner = spec.image.OwnerID
	}
	if owner == "" {
		owner = account
	}
	return map[string][]string{
		"ec2:owner": {owner}, "ec2:public": {strconv.FormatBool(spec.image.OwnerID != account)}, "ec2:imagetype": {"machine"},
		"ec2:imageid": {spec.image.ID}, "ec2:rootdevicetype": {"ebs"},
	}
}

func merged(sets ...map[string][]string) map[string][]string {
	out := map[string][]string{}
	for _, s := range sets {
		maps.Copy(out, s)
	}
	return out
}
