package awsv1

// SubnetSelectorTerm selects subnets by id or by tags.
//
// +kubebuilder:validation:XValidation:rule="has(self.id) || has(self.tags)",message="a term needs one of 'tags' and 'id'"
// +kubebuilder:validation:XValidation:rule="!has(self.id) || !has(self.tags)",message="'id' cannot be combined with other fields of a term"
type SubnetSelectorTerm struct {
	// Tags selects subnets that have all of these tags. The value * stands for any value.
	//
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=20
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '' && self[k] != '')",message="tag keys and values cannot be empty"
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// ID is the id of a subnet.
	//
	// +kubebuilder:validation:Pattern=`^subnet-[0-9a-z]+$`
	// +optional
	ID string `json:"id,omitempty"`
}

// SecurityGroupSelectorTerm selects security groups by id, by name or by tags.
//
// +kubebuilder:validation:XValidation:rule="has(self.id) || has(self.name) || has(self.tags)",message="a term needs one of 'tags', 'id' and 'name'"
// +kubebuilder:validation:XValidation:rule="!has(self.id) || !(has(self.name) || has(self.tags))",message="'id' cannot be combined with other fields of a term"
// +kubebuilder:validation:XValidation:rule="!has(self.name) || !(has(self.id) || has(self.tags))",message="'name' cannot be combined with other fields of a term"
type SecurityGroupSelectorTerm struct {
	// Tags selects security groups that have all of these tags. The value * stands for any value.
	//
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=20
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '' && self[k] != '')",message="tag keys and values cannot be empty"
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// ID is the id of a security group.
	//
	// +kubebuilder:validation:Pattern=`^sg-[0-9a-z]+$`
	// +optional
	ID string `json:"id,omitempty"`
	// Name is the name of a security group, which is not its tag "Name".
	//
	// +kubebuilder:validation:MinLength=1
	// +optional
	Name string `json:"name,omitempty"`
}

// CapacityReservationSelectorTerm selects capacity reservations by id, or by tags, owner and match criteria together.
//
// +kubebuilder:validation:XValidation:rule="has(self.id) || has(self.tags) || has(self.instanceMatchCriteria)",message="a term needs one of 'tags', 'id' and 'instanceMatchCriteria'"
// +kubebuilder:validation:XValidation:rule="!has(self.id) || !(has(self.tags) || has(self.ownerID) || has(self.instanceMatchCriteria))",message="'id' cannot be combined with other fields of a term"
type CapacityReservationSelectorTerm struct {
	// Tags selects reservations that have all of these tags. The value * stands for any value.
	//
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=20
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '' && self[k] != '')",message="tag keys and values cannot be empty"
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// ID is the id of a capacity reservation.
	//
	// +kubebuilder:validation:Pattern=`^cr-[0-9a-z]+$`
	// +optional
	ID string `json:"id,omitempty"`
	// OwnerID is the account that owns the reservation.
	//
	// +kubebuilder:validation:Pattern=`^[0-9]{12}$`
	// +optional
	OwnerID string `json:"ownerID,omitempty"`
	// InstanceMatchCriteria says whether the reservation takes any matching instance or only those that name it.
	//
	// +optional
	InstanceMatchCriteria InstanceMatchCriteria `json:"instanceMatchCriteria,omitempty"`
}

// InstanceMatchCriteria says which instances a capacity reservation takes.
//
// +kubebuilder:validation:Enum=open;targeted
type InstanceMatchCriteria string

// PlacementGroupSelector selects one placement group, by name or by id.
//
// +kubebuilder:validation:XValidation:rule="has(self.name) != has(self.id)",message="exactly one of 'name' and 'id' must be set"
type PlacementGroupSelector struct {
	// Name is the name of a placement group.
	//
	// +kubebuilder:validation:MinLength=1
	// +optional
	Name string `json:"name,omitempty"`
	// ID is the id of a placement group.
	//
	// +kubebuilder:validation:Pattern=`^pg-[0-9a-z]+$`
	// +optional
	ID string `json:"id,omitempty"`
}

// AMISelectorTerm selects images by alias, by id, by SSM parameter, or by name, owner and tags together.
//
// +kubebuilder:validation:XValidation:rule="has(self.tags) || has(self.id) || has(self.name) || has(self.alias) || has(self.ssmParameter)",message="a term needs one of 'tags', 'id', 'name', 'alias' and 'ssmParameter'"
// +kubebuilder:validation:XValidation:rule="!has(self.id) || !(has(self.alias) || has(self.tags) || has(self.name) || has(self.owner) || has(self.ssmParameter))",message="'id' cannot be combined with other fields of a term"
// +kubebuilder:validation:XValidation:rule="!has(self.alias) || !(has(self.id) || has(self.tags) || has(self.name) || has(self.owner) || has(self.ssmParameter))",message="'alias' cannot be combined with other fields of a term"
// +kubebuilder:validation:XValidation:rule="!has(self.ssmParameter) || !(has(self.id) || has(self.alias) || has(self.tags) || has(self.name) || has(self.owner))",message="'ssmParameter' cannot be combined with other fields of a term"
type AMISelectorTerm struct {
	// Alias is family@version: an image that EKS publishes for the family and the cluster's version of Kubernetes. The
	// family is one of al2, al2023, bottlerocket, windows2019, windows2022 and windows2025; the version is latest or,
	// except for Windows, a released one such as v20250212 or v1.40.0.
	//
	// +kubebuilder:validation:MaxLength=30
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]*@.+$')",message="'alias' must be family@version"
	// +kubebuilder:validation:XValidation:rule="!self.contains('@') || self.split('@')[0] in ['al2', 'al2023', 'bottlerocket', 'windows2019', 'windows2022', 'windows2025']",message="the family of 'alias' must be one of al2, al2023, bottlerocket, windows2019, windows2022 and windows2025"
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('windows') || !self.contains('@') || self.split('@')[1] == 'latest'",message="a Windows 'alias' must have the version latest"
	// +optional
	Alias string `json:"alias,omitempty"`
	// Tags selects images that have all of these tags. The value * stands for any value. Tags are visible only to the
	// account that set them.
	//
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=20
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '' && self[k] != '')",message="tag keys and values cannot be empty"
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// ID is the id of an image.
	//
	// +kubebuilder:validation:Pattern=`^ami-[0-9a-z]+$`
	// +optional
	ID string `json:"id,omitempty"`
	// Name is the name of images, which is not their tag "Name"; it may hold the wildcards * and ?.
	//
	// +kubebuilder:validation:MinLength=1
	// +optional
	Name string `json:"name,omitempty"`
	// Owner is the owner of images: an account, self, amazon or aws-marketplace. With a name and no owner, images of
	// self and amazon are selected.
	//
	// +kubebuilder:validation:MinLength=1
	// +optional
	Owner string `json:"owner,omitempty"`
	// SSMParameter is the name or ARN of an SSM parameter whose value is the id of an image.
	//
	// +kubebuilder:validation:MinLength=1
	// +optional
	SSMParameter string `json:"ssmParameter,omitempty"`
}
