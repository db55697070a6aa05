package awsv1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EC2NodeClass says how EC2 launches the nodes of the pools that refer to it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=ec2nodeclasses,scope=Cluster,categories=karpenter,shortName={ec2nc,ec2ncs}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Role",type="string",priority=1,JSONPath=".spec.role"
type EC2NodeClass struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec EC2NodeClassSpec `json:"spec"`
	// +optional
	Status EC2NodeClassStatus `json:"status,omitzero"`
}

// EC2NodeClassList is a list of classes.
//
// +kubebuilder:object:root=true
type EC2NodeClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EC2NodeClass `json:"items"`
}

// EC2NodeClassSpec is what people want of the instances.
//
// +kubebuilder:validation:XValidation:rule="has(self.role) != has(self.instanceProfile)",message="exactly one of 'role' and 'instanceProfile' must be set"
// +kubebuilder:validation:XValidation:rule="has(self.amiFamily) || self.amiSelectorTerms.exists(t, has(t.alias))",message="'amiFamily' must be set when no term of 'amiSelectorTerms' has an 'alias'"
// +kubebuilder:validation:XValidation:rule="!has(self.amiFamily) || self.amiFamily == 'Custom' || self.amiSelectorTerms.all(t, !has(t.alias) || t.alias.startsWith(self.amiFamily.lowerAscii() + '@'))",message="'amiFamily' must be the family of the 'alias', or Custom"
type EC2NodeClassSpec struct {
	// SubnetSelectorTerms select the subnets to launch into: those that any term selects.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=30
	// +required
	SubnetSelectorTerms []SubnetSelectorTerm `json:"subnetSelectorTerms"`
	// SecurityGroupSelectorTerms select the security groups of the instances: those that any term selects.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=30
	// +required
	SecurityGroupSelectorTerms []SecurityGroupSelectorTerm `json:"securityGroupSelectorTerms"`
	// CapacityReservationSelectorTerms select the capacity reservations that may be used: those that any term selects.
	//
	// +kubebuilder:validation:MaxItems=30
	// +optional
	CapacityReservationSelectorTerms []CapacityReservationSelectorTerm `json:"capacityReservationSelectorTerms,omitempty"`
	// PlacementGroupSelector selects the one placement group all instances are launched into.
	//
	// +optional
	PlacementGroupSelector *PlacementGroupSelector `json:"placementGroupSelector,omitempty"`
	// AssociatePublicIPAddress says whether instances get a public address. Unset leaves it to the subnet.
	//
	// +optional
	AssociatePublicIPAddress *bool `json:"associatePublicIPAddress,omitempty"`
	// IPPrefixCount is the number of address prefixes given to the primary network interface.
	//
	// +kubebuilder:validation:Minimum=0
	// +optional
	IPPrefixCount *int32 `json:"ipPrefixCount,omitempty"`
	// AMISelectorTerms select the images to launch from: those that any term selects.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=30
	// +kubebuilder:validation:XValidation:rule="self.size() == 1 || !self.exists(t, has(t.alias))",message="a term with an 'alias' must be the only term"
	// +required
	AMISelectorTerms []AMISelectorTerm `json:"amiSelectorTerms"`
	// AMIFamily says how user data is written and which disks an instance has by default. With an alias it may be left
	// out, and is then the family of the alias.
	//
	// +optional
	AMIFamily *AMIFamily `json:"amiFamily,omitempty"`
	// UserData is passed to the instance together with what the node needs to join, in the format of the family.
	//
	// +optional
	UserData *string `json:"userData,omitempty"`
	// Role is the IAM role of the instances; an instance profile is made for it.
	//
	// +kubebuilder:validation:MinLength=1
	// +optional
	Role string `json:"role,omitempty"`
	// InstanceProfile is the IAM instance profile of the instances.
	//
	// +kubebuilder:validation:MinLength=1
	// +optional
	InstanceProfile *string `json:"instanceProfile,omitempty"`
	// Tags are put on everything that is launched.
	//
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '')",message="a tag key cannot be empty"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != 'eks:eks-cluster-name')",message="the tag eks:eks-cluster-name is restricted"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('kubernetes.io/cluster'))",message="tags beginning kubernetes.io/cluster are restricted"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != 'karpenter.sh/nodepool')",message="the tag karpenter.sh/nodepool is restricted"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != 'karpenter.sh/nodeclaim')",message="the tag karpenter.sh/nodeclaim is restricted"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != 'karpenter.k8s.aws/ec2nodeclass')",message="the tag karpenter.k8s.aws/ec2nodeclass is restricted"
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// Kubelet configures the kubelet of the nodes. It has the fields of a KubeletConfiguration of
	// kubelet.config.k8s.io/v1beta1; those that the family cannot take are reported in the status.
	//
	// +optional
	Kubelet *KubeletConfiguration `json:"kubelet,omitempty"`
	// BlockDeviceMappings are the disks of an instance. They replace the default disks of the family altogether.
	//
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:XValidation:rule="self.filter(d, has(d.rootVolume) && d.rootVolume).size() <= 1",message="at most one block device can have 'rootVolume'"
	// +optional
	BlockDeviceMappings []BlockDeviceMapping `json:"blockDeviceMappings,omitempty"`
	// InstanceStorePolicy says what to do with the disks that are part of the instance. Unset leaves them alone.
	//
	// +optional
	InstanceStorePolicy *InstanceStorePolicy `json:"instanceStorePolicy,omitempty"`
	// NetworkInterfaces are the network interfaces of an instance. Unset is one interface, or as many EFA interfaces as
	// the pods ask for.
	//
	// +kubebuilder:validation:MaxItems=150
	// +kubebuilder:validation:XValidation:rule="self.size() == 0 || self.exists(i, i.networkCardIndex == 0 && i.deviceIndex == 0 && i.interfaceType == 'interface')",message="an 'interface' with network card index 0 and device index 0 is needed"
	// +kubebuilder:validation:XValidation:rule="self.all(i, self.exists_one(j, j.networkCardIndex == i.networkCardIndex && j.deviceIndex == i.deviceIndex))",message="no two interfaces can have the same network card index and device index"
	// +kubebuilder:validation:XValidation:rule="self.all(i, i.interfaceType != 'efa-only' || self.exists_one(j, j.interfaceType == 'efa-only' && j.networkCardIndex == i.networkCardIndex))",message="a network card can have at most one 'efa-only' interface"
	// +optional
	NetworkInterfaces []NetworkInterface `json:"networkInterfaces,omitempty"`
	// DetailedMonitoring says whether metrics of instances are collected each minute.
	//
	// +optional
	DetailedMonitoring *bool `json:"detailedMonitoring,omitempty"`
	// MetadataOptions say how an instance may read about itself.
	//
	// +kubebuilder:default={httpEndpoint: enabled, httpProtocolIPv6: disabled, httpPutResponseHopLimit: 1, httpTokens: required}
	// +optional
	MetadataOptions *MetadataOptions `json:"metadataOptions,omitempty"`
	// ConnectionTracking sets the idle timeouts of tracked connections. Only Nitro instances have them.
	//
	// +optional
	ConnectionTracking *ConnectionTracking `json:"connectionTracking,omitempty"`
	// Context is passed to EC2 as it is.
	//
	// +optional
	Context *string `json:"context,omitempty"`
	// CPUOptions configure the processors of the instances.
	//
	// +optional
	CPUOptions *CPUOptions `json:"cpuOptions,omitempty"`
}
