package reading

import "time"

// Doubt is an assumption about AWS that can be read in two ways.
type Doubt struct {
	ID      string
	Default string // what a model does unless the other reading is chosen
	Other   string
}

// Ids of doubts.
const (
	RunInstancesTags         = "ec2-run-instances-tags"
	RunInstancesParameters   = "ec2-run-instances-parameters"
	RunInstancesMetadataKeys = "ec2-run-instances-metadata-keys"
	CreateFleetTemplateKeys  = "ec2-create-fleet-template-keys"
	CreateFleetResources     = "ec2-create-fleet-resources"
	FleetCreateTags          = "ec2-fleet-create-tags"
	TokenUnfulfilled         = "ec2-token-unfulfilled"
	TokenRefused             = "ec2-token-refused"
	FleetInstanceToken       = "ec2-fleet-instance-token"
	DryRunDepth              = "ec2-dry-run-depth"
	DescribeLag              = "ec2-describe-lag"
	EventResource            = "events-state-changes"
	MissingProfile           = "iam-missing-profile-root"
	TemplateLag              = "ec2-template-lag"
	ProfileLag               = "iam-profile-lag"
	PolicyLag                = "iam-policy-lag"
	ClusterLag               = "eks-cluster-lag"
	AccessEntryLag           = "eks-access-entry-lag"
	GroupOnStandard          = "sqs-group-on-standard"
	ConditionalConflict      = "s3-conditional-conflict"
)

// Delays of the other readings. AWS names none of them; each is longer than what users report of quiet hours.
const (
	DescribeDelay    = 10 * time.Second
	TemplateDelay    = 2 * time.Second
	ProfileDelay     = 10 * time.Second
	PolicyDelay      = 8 * time.Second
	ClusterDelay     = 5 * time.Second
	AccessEntryDelay = 5 * time.Second
)

// Delays returns the ids of the doubts about how soon something acts. A test whose clock stands still takes the default of them.
func Delays() []string {
	return []string{AccessEntryLag, ClusterLag, DescribeLag, PolicyLag, ProfileLag, TemplateLag}
}

// All returns every doubt, by id.
func All() []Doubt { return append([]Doubt(nil), doubts...) }

var doubts = []Doubt{
	{AccessEntryLag, "an access entry lets its principal in at once", "it does so after 5 s; until then the token is nobody's"},
	{ClusterLag, "a cluster is ACTIVE from its first moment", "it is CREATING for 5 s"},
	{CreateFleetResources, "CreateFleet is judged on the fleet, and of each override on instance, volume, image, template, subnet and placement group",
		"it is judged on the fleet alone; what is launched is RunInstances' to ask for"},
	{CreateFleetTemplateKeys, "where CreateFleet is judged on an image, an instance or a volume, condition keys of what only the launch template says are missing (ec2:Owner, ec2:InstanceProfile, ec2:Encrypted and their like)",
		"they have the template's values"},
	{DescribeLag, "describing lags behind by what the model's timing says, 2 s unless set", "it lags by 10 s at least"},
	{DryRunDepth, "a dry run of RunInstances is refused (Unsupported) where the zone has no such type", "it looks no further than the request's references"},
	{FleetCreateTags, "tags of what a fleet launches ask for CreateTags twice: with ec2:CreateAction CreateFleet and RunInstances", "they ask with RunInstances alone; those of the fleet itself with CreateFleet"},
	{FleetInstanceToken, "instances of a fleet carry a client token of EC2's making", "they carry the token of the request, and are found by it"},
	{EventResource, "the warning of a spot interruption names its resource by zone without account", "it names it by region and account, as the other events"},
	{MissingProfile, "GetInstanceProfile of a name that is not there is judged by the name in the root", "it is NoSuchEntity to everybody, before anything is judged"},
	{RunInstancesMetadataKeys, "RunInstances has ec2:MetadataHttpTokens and its like only where the request itself has MetadataOptions", "it has those of the launch template too"},
	{RunInstancesParameters, "a parameter of RunInstances takes the place of the launch template's as a whole", "structures are joined member by member, interfaces by device index; what the request says wins"},
	{RunInstancesTags, "TagSpecifications of RunInstances take the place of all of the launch template's", "both are joined; of the same key the request's value wins"},
	{TemplateLag, "a launch template can be launched from at once", "for 2 s it does not exist for launches"},
	{TokenRefused, "a token of a request that was refused as a whole is used up: the same request gets the same refusal", "it is not: the same request is tried anew"},
	{TokenUnfulfilled, "a token of a fleet that got no instance at all is used up: the same request gets the same errors", "it is not: the same request is tried anew"},
	{PolicyLag, "roles and policies act at once", "they act 8 s after they were made or changed"},
	{ProfileLag, "an instance profile can be launched with at once", "EC2 does not know it for 10 s"},
	{ConditionalConflict, "every thirteenth conditional put is answered 409 ConditionalRequestConflict, with nothing done", "none is"},
	{GroupOnStandard, "a standard queue refuses MessageGroupId with InvalidParameterValue", "it takes it: fair queues"},
}
