package model

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
)

// Class is an EC2NodeClass: which image, network and disks a pool's instances get.
type Class struct {
	Name        string            `json:"name"`
	UID         string            `json:"uid"`
	Generation  int64             `json:"generation,omitempty"`
	DeletedUnix int64             `json:"deleted,omitempty"`
	Hash        string            `json:"hash,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`

	Subnets        []SelectorTerm `json:"subnets,omitempty"` // OR of terms
	SecurityGroups []SelectorTerm `json:"securityGroups,omitempty"`
	Images         []SelectorTerm `json:"images,omitempty"`
	Reservations   []SelectorTerm `json:"reservations,omitempty"`
	PlacementGroup *SelectorTerm  `json:"placementGroup,omitempty"` // with Name or ID

	// AL2, AL2023, Bottlerocket, Custom, Windows2019, …: amiFamily, else the alias's
	Family   string `json:"family"`
	UserData string `json:"userData,omitempty"`
	// one of Role and InstanceProfile is set
	Role                     string            `json:"role,omitempty"`
	InstanceProfile          string            `json:"instanceProfile,omitempty"` //
	Tags                     map[string]string `json:"tags,omitempty"`
	BlockDevices             []BlockDevice     `json:"blockDevices,omitempty"`
	Metadata                 MetadataOptions   `json:"metadata"`
	Kubelet                  Kubelet           `json:"kubelet"`
	DetailedMonitoring       bool              `json:"detailedMonitoring,omitempty"`
	AssociatePublicIPAddress *bool             `json:"associatePublicIPAddress,omitempty"`

	// of the primary interface; nil = unset
	IPPrefixCount *int64 `json:"ipPrefixCount,omitempty"`
	// RAID0; "" = leave the disks alone
	InstanceStorePolicy string `json:"instanceStorePolicy,omitempty"`
	// empty = one, or EFA as the pods ask
	NetworkInterfaces    []NetworkInterface  `json:"networkInterfaces,omitempty"`
	ConnectionTracking   *ConnectionTracking `json:"connectionTracking,omitempty"`   //
	Context              string              `json:"context,omitempty"`              // handed to CreateFleet as it is
	NestedVirtualization string              `json:"nestedVirtualization,omitempty"` // enabled, disabled; "" = unset

	// Unsupported names what cannot be honored, each a sentence with field and remedy. A class with any launches
	// nothing.
	Unsupported []string `json:"unsupported,omitempty"`

	// Invalid says what is wrong with what the class asks for, as far as that shows without asking AWS. Such a class
	// launches nothing, and its condition says so.
	Invalid []ClassProblem `json:"invalid,omitempty"`

	// Status is what the selectors resolve to. A class read from the API server carries the status last written there.
	Status ClassStatus `json:"status"`
}

// HashFor returns the drift hash of the class for a cluster whose API server has this certificate authority (PEM; empty
// = left out): instances know the authority, so another one is another machine. "" for a class without Hash.
func (c *Class) HashFor(ca []byte) string {
	if c.Hash == "" || len(ca) == 0 {
		return c.Hash
	}
	sum := sha256.Sum256(append([]byte(c.Hash+"\n"), ca...))
	return strconv.FormatUint(binary.BigEndian.Uint64(sum[:8]), 10)
}

// SelectorTerm selects AWS resources; the conditions inside one term are ANDed.
type SelectorTerm struct {
	Tags map[string]string `json:"tags,omitempty"` // value "*" = the key exists
	ID   string            `json:"id,omitempty"`
	Name string            `json:"name,omitempty"`
	// images: account, self, amazon, …; reservations: account
	Owner        string `json:"owner,omitempty"`
	Alias        string `json:"alias,omitempty"`        // images only: family@version
	SSMParameter string `json:"ssmParameter,omitempty"` // images only

	MatchCriteria string `json:"matchCriteria,omitempty"` // reservations only: open, targeted; "" = either
}

// NetworkInterface of an instance.
type NetworkInterface struct {
	Card   int64  `json:"card"`
	Device int64  `json:"device"` // on the card
	Type   string `json:"type"`   // interface, efa-only
}

// ConnectionTracking holds the idle timeouts of tracked connections. 0 = EC2's own default.
type ConnectionTracking struct {
	TCPEstablishedSeconds int64 `json:"tcpEstablishedSeconds,omitempty"`
	UDPStreamSeconds      int64 `json:"udpStreamSeconds,omitempty"`
	UDPSeconds            int64 `json:"udpSeconds,omitempty"`
}

// BlockDevice is one block device mapping. Zero means unset.
type BlockDevice struct {
	DeviceName          string `json:"deviceName,omitempty"`
	RootVolume          bool   `json:"rootVolume,omitempty"`
	VolumeSizeGiB       int64  `json:"volumeSizeGiB,omitempty"`
	VolumeType          string `json:"volumeType,omitempty"`
	IOPS                int64  `json:"iops,omitempty"`
	Throughput          int64  `json:"throughput,omitempty"`
	SnapshotID          string `json:"snapshotID,omitempty"`
	KMSKeyID            string `json:"kmsKeyID,omitempty"`
	Encrypted           *bool  `json:"encrypted,omitempty"`
	DeleteOnTermination *bool  `json:"deleteOnTermination,omitempty"`
	InitializationRate  int64  `json:"initializationRate,omitempty"`
}

// MetadataOptions of the instance metadata service. Empty strings and 0 mean EC2's own default.
type MetadataOptions struct {
	HTTPEndpoint            string `json:"httpEndpoint,omitempty"`
	HTTPProtocolIPv6        string `json:"httpProtocolIPv6,omitempty"`
	HTTPPutResponseHopLimit int64  `json:"httpPutResponseHopLimit,omitempty"`
	HTTPTokens              string `json:"httpTokens,omitempty"`
}

// Kubelet is the part of the kubelet configuration that changes what a node can hold, and the whole of it to pass on.
type Kubelet struct {
	MaxPods        int64             `json:"maxPods,omitempty"` // 0 = unset
	PodsPerCore    int64             `json:"podsPerCore,omitempty"`
	KubeReserved   Resources         `json:"kubeReserved,omitempty"`
	SystemReserved Resources         `json:"systemReserved,omitempty"`
	EvictionHard   map[string]string `json:"evictionHard,omitempty"` // signal → quantity or percentage
	// the user's whole kubelet map, canonical JSON; "" = none
	JSON string `json:"json,omitempty"`

	// Expressions (CEL) that say an amount for each instance type. A resource is here or in the amounts above, never in
	// both.
	MaxPodsExpr        string            `json:"maxPodsExpr,omitempty"`
	KubeReservedExpr   map[string]string `json:"kubeReservedExpr,omitempty"`   // by resource
	SystemReservedExpr map[string]string `json:"systemReservedExpr,omitempty"` // by resource
}

// ClassStatus is what a class's selectors resolve to now.
type ClassStatus struct {
	ObservedGeneration int64           `json:"observedGeneration,omitempty"`
	ResolvedUnix       int64           `json:"resolved,omitempty"`
	Subnets            []Subnet        `json:"subnets,omitempty"`        // by free addresses descending, then id
	SecurityGroups     []SecurityGroup `json:"securityGroups,omitempty"` // by id
	Images             []Image         `json:"images,omitempty"`         // newest first, then id
	InstanceProfile    string          `json:"instanceProfile,omitempty"`
	Reservations       []Reservation   `json:"reservations,omitempty"` // by id
	// nil = none asked for, or not found (then a problem says so)
	PlacementGroup *PlacementGroup `json:"placementGroup,omitempty"`
	Problems       []ClassProblem  `json:"problems,omitempty"` // empty = ready
}

// ImagesKey stands for the set of images a class resolves to: equal for statuses with the same images in whatever
// order, "" without any. What was learned of nodes holds for one set of images.
func (s *ClassStatus) ImagesKey() string {
	if len(s.Images) == 0 {
		return ""
	}
	ids := make([]string, len(s.Images))
	for i := range s.Images {
		ids[i] = s.Images[i].ID
	}
	slices.Sort(ids)
	digest := sha256.Sum256([]byte(strings.Join(slices.Compact(ids), ",")))
	return hex.EncodeToString(digest[:8])
}

// Configuration is every pool and class there is, as the API server has them now. Lists are by name.
type Configuration struct {
	Undefined []string // kinds that are not defined in the cluster: that there is no object of them says nothing
	Classes   []ClassObject
	Pools     []Pool
}

// ClassObject is an EC2NodeClass object.
type ClassObject struct {
	Class       Class
	Annotations map[string]string // all of them, the hashes' included
	Finalized   bool              // our finalizer is on it
}

// ClassPatch is what an EC2NodeClass object is to carry beside what people wrote.
type ClassPatch struct {
	Name        string
	UID         string            // of the object that was evaluated
	Finalized   bool              // whether our finalizer is to be on it
	Annotations map[string]string // to set
}

// Conditions of a class, one for each part of what is found out about it.
const (
	SubnetsReady        = "SubnetsReady"
	SecurityGroupsReady = "SecurityGroupsReady"
	ImagesReady         = "AMIsReady"
	ProfileReady        = "InstanceProfileReady"
	ReservationsReady   = "CapacityReservationsReady"
	PlacementGroupReady = "PlacementGroupReady"
	Validated           = "ValidationSucceeded"
)

// ClassProblem says why a class is not ready.
type ClassProblem struct {
	// SubnetsReady, SecurityGroupsReady, AMIsReady, InstanceProfileReady, ValidationSucceeded, …
	Condition string `json:"condition"`
	Reason    string `json:"reason"`            // SubnetsNotFound, …
	Message   string `json:"message"`           // names field, value and remedy
	Unknown   bool   `json:"unknown,omitempty"` // could not be found out (an API error): status Unknown, not False
}

// ReasonPostponed is why nothing is known of whether a class can be launched from: the trial on EC2 was put off for
// others' calls.
const ReasonPostponed = "ValidationPostponed"

// Stops reports whether nothing can be launched from a class that has the problem. A trial that was only put off says
// nothing against the class, and a launch shows what it would have.
func (p ClassProblem) Stops() bool { return p.Reason != ReasonPostponed }

// Subnet an instance may be placed in.
type Subnet struct {
	ID            string `json:"id"`
	Zone          string `json:"zone"`
	ZoneID        string `json:"zoneID,omitempty"`
	FreeAddresses int64  `json:"freeAddresses,omitempty"`
}

// SecurityGroup of an instance.
type SecurityGroup struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
}

// Reservation is a capacity reservation a class may launch into.
type Reservation struct {
	ID            string `json:"id"`
	InstanceType  string `json:"instanceType"`
	Zone          string `json:"zone"`
	Owner         string `json:"owner,omitempty"`         // account
	MatchCriteria string `json:"matchCriteria,omitempty"` // open, targeted
	Block         bool   `json:"block,omitempty"`         // a capacity block
	Interruptible bool   `json:"interruptible,omitempty"` // the owner may take the capacity back
	EndUnix       int64  `json:"end,omitempty"`           // 0 = it does not end
	Total         int64  `json:"total,omitempty"`
	Free          int64  `json:"free"` // instances that could be launched into it when the status was resolved
}

// blockNotice is how long before the end of a capacity block nothing is launched into it any more, in seconds. EC2 ends
// instances of a block 30 minutes before its end (EC2 user guide, Capacity Blocks for ML).
const blockNotice = 40 * 60

// Expiring reports whether a capacity block is too close to its end to be launched into.
func (r *Reservation) Expiring(nowUnix int64) bool {
	return r.Block && r.EndUnix != 0 && nowUnix >= r.EndUnix-blockNotice
}

// PlacementGroup every instance of a class is launched into.
type PlacementGroup struct {
	ID         string `json:"id"`
	Name       string `json:"name,omitempty"`
	Strategy   string `json:"strategy"`             // cluster, partition, spread
	Partitions int64  `json:"partitions,omitempty"` // of strategy partition
}

// InstanceProfile is an instance profile of IAM.
type InstanceProfile struct {
	Name        string
	Path        string            // begins and ends with a slash
	Role        string            // name of the one role it holds, without the role's path; "" = none
	Tags        map[string]string // of a profile to make; not read back
	CreatedUnix int64
}

// Image an instance may boot from, and for which types.
type Image struct {
	ID           string        `json:"id"`
	Name         string        `json:"name,omitempty"`
	CreatedUnix  int64         `json:"created,omitempty"`
	Deprecated   bool          `json:"deprecated,omitempty"`
	Requirements []Requirement `json:"requirements,omitempty"`
}

// ImageQuery is one way of finding images: an SSM parameter that holds an image id, or a term on images themselves.
type ImageQuery struct {
	Parameter    string        // name or ARN; "" = Term
	Term         SelectorTerm  // with ID, Name, Owner or Tags
	Requirements []Requirement // of the instances the found images are for, beside their architecture
	Source       string        // field of the class it comes from, for messages
}
