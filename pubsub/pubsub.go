// Package pubsub wakes those who wait for a lock: it listens to Redis channels
// for many waiters over one connection.
//
// A [Hub] keeps one subscriber connection however many channels are awaited. A
// waiter asks it for a [Subscription], looks at what it waits for once the
// subscription is confirmed, and sleeps until [Subscription.Wake] yields a
// token. Messages carry no news but "look again", so their text is thrown away,
// and a token stands for any number of them.
//
// What a waiter may rely on:
//
//  1. A message published after [Subscription.Confirmed] became true leaves a
//     token with one subscription of its channel in this process, in turn,
//     unless every one of them has an unread token already; where several
//     topics share the channel, with one of each.
//  2. Whenever the server confirms the channel, again after every reconnection,
//     all its subscriptions get a token: messages may have passed unheard
//     before it. That covers a message that slips between a failed look and the
//     subscription, and whatever was published while the connection was down.
//  3. A token that nobody read before its subscription was closed goes to
//     another subscription of the channel and topic.
//  4. A connection that no longer answers is found within twice [Config.Ping]
//     and replaced, without waiting for it.
//  5. When the server refuses the channel, or no connection can be had, the
//     subscription says [Subscription.Polling], with a token: the waiter must
//     look by itself now and then. The hub goes on trying, and takes it back
//     when it succeeds.
//  6. Nothing here blocks a waiter or does I/O on its goroutine, [Hub.Close]
//     excepted.
//  7. Nothing outlives its use: a channel without subscriptions is unsubscribed
//     after [Config.Linger], and when the last is gone so are, after another
//     Linger, the connection and every goroutine.
//
// One thing remains with the waiter: whoever took a token and leaves without
// looking has to see to it that somebody else looks.
package pubsub
