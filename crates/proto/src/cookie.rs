//! Stateless cookies, as DTLS's HelloVerifyRequest (RFC 6347) and QUIC's Retry have them: proof that a client receives what is
//! sent to its address.
//!
//! A server answers a Hello with a cookie and forgets about it. Only the return of that cookie,
//! from the same address and with the same nonce, makes it keep state or compute a key exchange:
//! a flood of forged Hellos costs it two hashes of one block each and no memory.
//!
//! | bytes | field |
//! |---|---|
//! | 0 | key id: counts the server's cookie keys, wrapping |
//! | 1..4 | time of issue in whole seconds of the server's clock, modulo 2²⁴, little endian |
//! | 4..20 | first 16 bytes of `mac(key, "SStpcook", bytes 0..4 ‖ nonce ‖ address ‖ port)` |
//!
//! The nonce is a u64, the port a u16, both little endian; the address is 16 bytes, IPv4 in its
//! IPv6-mapped form. Clients treat a cookie as opaque.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use crate::crypto::{mac, same};
use crate::handshake::ClientNonce;
use crate::rng::Random;

/// Length of a cookie.
pub const COOKIE_BYTES: usize = 20;

/// How long a cookie is good for.
pub const COOKIE_LIFE: Duration = Duration::from_secs(30);

/// What the server hands out; see the module's text for its layout.
pub type Cookie = [u8; COOKIE_BYTES];

/// Stands for a cookie where there is none yet.
pub const NO_COOKIE: Cookie = [0; COOKIE_BYTES];

/// The secret behind the cookies. It changes every [`COOKIE_LIFE`] while cookies are issued, and
/// the one before is kept, so every cookie lives out its time and a stolen key is soon worthless.
#[derive(Debug)]
pub struct CookieKey {
    random: Random,
    current: Key,
    previous: Option<Key>,
    since: Duration,
}

struct Key {
    id: u8,
    secret: [u8; 32],
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Key({})", self.id)
    }
}

impl CookieKey {
    /// Keys drawn from `random`.
    pub fn new(now: Duration, mut random: Random) -> Self {
        let current = Key {
            id: 0,
            secret: random.bytes(),
        };
        Self {
            random,
            current,
            previous: None,
            since: now,
        }
    }

    /// Takes a new key if the current one has served its time. [`issue`](Self::issue) does it
    /// too; there is no need to call this on a timer.
    pub fn rotate(&mut self, now: Duration) {
        if now.saturating_sub(self.since) < COOKIE_LIFE {
            return;
        }
        let next = Key {
            id: self.current.id.wrapping_add(1),
            secret: self.random.bytes(),
        };
        self.previous = Some(std::mem::replace(&mut self.current, next));
        self.since = now;
    }

    /// A cookie for the client at `addr`.
    pub fn issue(&mut self, now: Duration, addr: SocketAddr, nonce: ClientNonce) -> Cookie {
        self.rotate(now);
        let time = (now.as_secs() as u32).to_le_bytes();
        let head = [self.current.id, time[0], time[1], time[2]];
        sign(&self.current.secret, head, addr, nonce)
    }

    /// Whether this server issued `cookie` to `addr` for `nonce` within [`COOKIE_LIFE`].
    ///
    /// A cookie may come back several times (a client repeats its Connect): the endpoint tells
    /// repetitions apart by address and nonce.
    pub fn check(
        &self,
        now: Duration,
        addr: SocketAddr,
        nonce: ClientNonce,
        cookie: &Cookie,
    ) -> bool {
        let [id, t0, t1, t2, ..] = *cookie;
        let issued = u32::from_le_bytes([t0, t1, t2, 0]);
        let age = (now.as_secs() as u32).wrapping_sub(issued) & 0x00FF_FFFF;
        if u64::from(age) > COOKIE_LIFE.as_secs() {
            return false;
        }
        let Some(key) = [Some(&self.current), self.previous.as_ref()]
            .into_iter()
            .flatten()
            .find(|key| key.id == id)
        else {
            return false;
        };
        same(&sign(&key.secret, [id, t0, t1, t2], addr, nonce), cookie)
    }
}

fn sign(secret: &[u8; 32], head: [u8; 4], addr: SocketAddr, nonce: ClientNonce) -> Cookie {
    let ip = match addr.ip() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    };
    let mut input = [0; 30];
    input[..4].copy_from_slice(&head);
    input[4..12].copy_from_slice(&nonce.0.to_le_bytes());
    input[12..28].copy_from_slice(&ip.octets());
    input[28..].copy_from_slice(&addr.port().to_le_bytes());
    let tag = mac(secret, b"SStpcook", &[&input]);
    let mut cookie = [0; COOKIE_BYTES];
    cookie[..4].copy_from_slice(&head);
    cookie[4..].copy_from_slice(&tag[..COOKIE_BYTES - 4]);
    cookie
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::hex;

    const NONCE: ClientNonce = ClientNonce(0x1122_3344_5566_7788);

    fn addr() -> SocketAddr {
        SocketAddr::from(([192, 0, 2, 1], 4000))
    }

    fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn key(now: Duration) -> CookieKey {
        CookieKey::new(now, Random::new([3; 32]))
    }

    #[test]
    fn a_cookie_is_good_for_its_client_alone() {
        let mut keys = key(secs(100));
        let cookie = keys.issue(secs(100), addr(), NONCE);
        assert!(keys.check(secs(100), addr(), NONCE, &cookie));
        let other_port = SocketAddr::from(([192, 0, 2, 1], 4001));
        let other_ip = SocketAddr::from(([192, 0, 2, 2], 4000));
        assert!(!keys.check(secs(100), other_port, NONCE, &cookie));
        assert!(!keys.check(secs(100), other_ip, NONCE, &cookie));
        assert!(!keys.check(secs(100), addr(), ClientNonce(1), &cookie));
        assert!(!CookieKey::new(secs(100), Random::new([4; 32])).check(
            secs(100),
            addr(),
            NONCE,
            &cookie
        ));
    }

    #[test]
    fn ipv4_is_the_same_client_through_a_dual_stack_socket() {
        let mut keys = key(secs(0));
        let cookie = keys.issue(secs(0), addr(), NONCE);
        let mapped = "[::ffff:192.0.2.1]:4000".parse().unwrap();
        assert!(keys.check(secs(0), mapped, NONCE, &cookie));
    }

    #[test]
    fn every_cookie_lives_its_time_and_no_longer_across_changes_of_key() {
        let mut keys = key(secs(0));
        for issued in 0..200 {
            let cookie = keys.issue(secs(issued), addr(), NONCE);
            let mut later = key(secs(0));
            for second in 0..=issued + 40 {
                // The other server's history: it issues a cookie to someone every second.
                later.issue(secs(second), addr(), ClientNonce(0));
                if second >= issued {
                    let good = later.check(secs(second), addr(), NONCE, &cookie);
                    assert_eq!(good, second <= issued + 30, "{issued} {second}");
                }
            }
        }
    }

    #[test]
    fn an_idle_server_accepts_no_old_cookie() {
        let mut keys = key(secs(0));
        let cookie = keys.issue(secs(0), addr(), NONCE);
        assert!(!keys.check(secs(31), addr(), NONCE, &cookie));
        assert!(!keys.check(secs(1 << 20), addr(), NONCE, &cookie));
        // The clock field has wrapped, but the key has changed since.
        keys.issue(secs(1000), addr(), NONCE);
        keys.issue(secs(2000), addr(), NONCE);
        assert!(!keys.check(secs(1 << 24), addr(), NONCE, &cookie));
    }

    #[test]
    fn hostile_cookies_are_refused() {
        let mut keys = key(secs(5));
        let cookie = keys.issue(secs(5), addr(), NONCE);
        for bit in 0..COOKIE_BYTES * 8 {
            let mut flipped = cookie;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(!keys.check(secs(5), addr(), NONCE, &flipped));
        }
        let mut random = Random::new([9; 32]);
        for _ in 0..10_000 {
            let mut junk: Cookie = random.bytes();
            junk[..4].copy_from_slice(&cookie[..4]);
            assert!(!keys.check(secs(5), addr(), NONCE, &junk));
        }
    }

    #[test]
    fn golden_cookie() {
        let secret: [u8; 32] = std::array::from_fn(|i| i as u8);
        let cookie = sign(&secret, [1, 100, 0, 0], addr(), NONCE);
        assert_eq!(hex(&cookie), crate::golden::vector("cookie"));
    }
}
